"""What schemathesis cannot know of this API."""

import schemathesis


@schemathesis.check
class DeletedClusterIsGoing:
    """After its deletion was accepted, a cluster is being deleted or gone, until another one has its ID."""

    def __init__(self):
        self.deleted = set()

    def after_response(self, ctx, response, case):
        cluster = (case.path_parameters or {}).get("clusterId")
        if response.status_code == 204:
            self.deleted.add(cluster)
        elif response.status_code == 201:
            self.deleted.discard(response.headers["location"][0].rsplit("/", 1)[1])
        elif response.status_code == 200 and cluster in self.deleted:
            status = response.json()["status"]
            assert status == "DELETING", f"{cluster} was deleted, and its status is {status}"


@schemathesis.check
def valid_page_size_is_accepted(ctx, response, case):
    """A list with valid parameters can only fail for its token."""
    if case.operation.path == "/api/v1alpha1/clusters" and case.method == "GET" and response.status_code == 400:
        if case.meta and case.meta.generation.mode.is_positive:
            assert response.json()["detail"] == "invalid page_token"
