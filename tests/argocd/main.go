// What Argo CD does with Capstan's plugin and health scripts, by Argo CD's own code.
//
//	argocd serve CONFIG            the plugin server, on the socket below $ARGOCD_PLUGINSOCKFILEPATH
//	argocd generate SOCKET REPO APP [NAME=VALUE...]
//	                               the repo server's part: match, then generate; prints JSON
//	argocd health CONFIGMAP        the health of each object on stdin (a YAML stream), a JSON line each
//	argocd kept                    whether pruning and deletion of the application keep each object on stdin, likewise
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	apiyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/argoproj/argo-cd/v3/cmpserver"
	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/cmpserver/plugin"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/sync/resource"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) >= 4 && args[0] == "generate":
		return generate(args[1], args[2], args[3], args[4:])
	case len(args) == 2 && args[0] == "health":
		return health(args[1])
	case len(args) == 1 && args[0] == "kept":
		return each(kept)
	}
	return errors.New("usage: argocd serve CONFIG | generate SOCKET REPO APP [NAME=VALUE...] | health CONFIGMAP | kept")
}

func serve(directory string) error {
	config, err := plugin.ReadPluginConfig(directory)
	if err != nil {
		return err
	}
	server, err := cmpserver.NewServer(plugin.CMPServerInitConstants{PluginConfig: *config})
	if err != nil {
		return err
	}
	server.Run()
	return nil
}

// generate asks as the repo server does (reposerver/repository: match, then generate).
func generate(socket, repo, app string, env []string) error {
	closer, client, err := apiclient.NewConfigManagementPluginClientSet(socket).NewConfigManagementPluginClient()
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }()
	ctx := context.Background()
	match, err := client.MatchRepository(ctx)
	if err != nil {
		return err
	}
	if err := cmp.SendRepoStream(match.Context(), app, repo, match, env, nil); err != nil {
		return err
	}
	supported, err := match.CloseAndRecv()
	if err != nil {
		return err
	}
	answer := map[string]any{"supported": supported.IsSupported}
	if supported.IsSupported {
		stream, err := client.GenerateManifest(ctx)
		if err != nil {
			return err
		}
		if err := cmp.SendRepoStream(stream.Context(), app, repo, stream, env, nil); err != nil {
			return err
		}
		if response, err := stream.CloseAndRecv(); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["manifests"] = response.Manifests
		}
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// overrides reads the keys as util/settings does: resource.customizations.<type>.<group>_<kind>.
func overrides(data map[string]string) (lua.ResourceHealthOverrides, error) {
	all := lua.ResourceHealthOverrides{}
	for key, value := range data {
		setting, found := strings.CutPrefix(key, "resource.customizations.")
		what, kind, split := strings.Cut(setting, ".")
		parts := strings.Split(kind, "_")
		if !found || !split || len(parts) != 2 {
			return nil, fmt.Errorf("%s is not a setting of a kind", key)
		}
		override := all[parts[0]+"/"+parts[1]]
		switch what {
		case "health":
			override.HealthLua = value
		case "useOpenLibs":
			override.UseOpenLibs = value == "true"
		default:
			return nil, fmt.Errorf("%s is not about health", key)
		}
		all[parts[0]+"/"+parts[1]] = override
	}
	return all, nil
}

func health(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var settings struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return err
	}
	overrides, err := overrides(settings.Data)
	if err != nil {
		return err
	}
	return each(func(object *unstructured.Unstructured) (map[string]any, error) {
		status, err := overrides.GetResourceHealth(object)
		return map[string]any{"name": object.GetName(), "health": status}, err
	})
}

// kept asks as pruneObject of gitops-engine and the application controller do.
func kept(object *unstructured.Unstructured) (map[string]any, error) {
	has := func(option string) bool {
		return resource.HasAnnotationOption(object, common.AnnotationSyncOptions, option)
	}
	return map[string]any{
		"name":     object.GetName(),
		"pruning":  has(common.SyncOptionDisablePrune),
		"deletion": has(common.SyncOptionDisableDeletion),
	}, nil
}

// each prints an answer for every object on stdin.
func each(answer func(*unstructured.Unstructured) (map[string]any, error)) error {
	documents := apiyaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	out := json.NewEncoder(os.Stdout)
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, object); err != nil {
			return err
		}
		answered, err := answer(object)
		if err != nil {
			return fmt.Errorf("%s: %w", object.GetName(), err)
		}
		if err := out.Encode(answered); err != nil {
			return err
		}
	}
}
