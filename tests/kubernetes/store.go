package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// compactedKey is where every kube-apiserver on this etcd reads how far history has been forgotten
// (apiserver/pkg/storage/etcd3/compact.go).
const compactedKey = "compact_rev_key"

type store struct {
	client   *clientv3.Client
	endpoint string
}

// startStore runs etcd below dir on a free port. Nothing is flushed to disk: a test's data need not survive the machine.
func startStore(dir string, verbose bool) (*store, error) {
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "etcd")
	config.LogLevel = "error"
	if !verbose {
		config.LogOutputs = []string{os.DevNull}
	}
	config.UnsafeNoFsync = true
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
	case <-time.After(time.Minute):
		etcd.Close()
		return nil, errors.New("not ready after a minute")
	}
	return &store{
		client:   v3client.New(etcd.Server),
		endpoint: "http://" + etcd.Clients[0].Addr().String(),
	}, nil
}

// compact forgets all revisions before the current one, and tells the API server so.
func (s *store) compact(ctx context.Context) error {
	current, err := s.client.Get(ctx, compactedKey)
	if err != nil {
		return err
	}
	revision := current.Header.Revision
	if _, err := s.client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	_, err = s.client.Put(ctx, compactedKey, strconv.FormatInt(revision, 10))
	return err
}
