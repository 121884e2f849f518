package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
)

const (
	workers = 5
	// How soon the garbage collector learns of a new CustomResourceDefinition; 30 s in production.
	discoverEvery = time.Second
	resyncEvery   = 12 * time.Hour
)

// startControllers runs the controllers whose work a test may count on, with the settings of kube-controller-manager.
func startControllers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, resyncEvery)
	kinds := metadatainformer.NewSharedInformerFactory(objects, resyncEvery)
	running := make(chan struct{})

	namespaces := namespace.NewNamespaceController(ctx, client, objects,
		client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), resyncEvery, corev1.FinalizerKubernetes)
	replicaSets := replicaset.NewReplicaSetController(ctx,
		shared.Apps().V1().ReplicaSets(), shared.Core().V1().Pods(), client, replicaset.BurstReplicas)
	deployments, err := deployment.NewDeploymentController(ctx,
		shared.Apps().V1().Deployments(), shared.Apps().V1().ReplicaSets(), shared.Core().V1().Pods(), client)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	garbage, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(shared, kinds), running)
	if err != nil {
		return err
	}

	shared.Start(ctx.Done())
	kinds.Start(ctx.Done())
	close(running)
	go namespaces.Run(ctx, workers)
	go replicaSets.Run(ctx, workers)
	go deployments.Run(ctx, workers)
	go garbage.Run(ctx, workers, discoverEvery)
	go garbage.Sync(ctx, client.Discovery(), discoverEvery)
	return nil
}
