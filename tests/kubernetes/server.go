package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// auditPolicy writes down each request with its answer. A watch is answered when it starts; before the answer it is not
// known whom the user impersonates.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

type server struct {
	config     *rest.Config
	kubeconfig string
	stopped    chan error
}

// startServer runs kube-apiserver on a free port of loopback and returns once it is ready. The one user, of group
// system:masters, holds a random token; other users are had by impersonation, judged by RBAC.
func startServer(ctx context.Context, dir, etcd string, policies bool, audit string) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	files, err := writeCredentials(dir)
	if err != nil {
		return nil, err
	}

	opts := options.NewServerRunOptions()
	opts.SecureServing.Listener = listener
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range opts.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	arguments := []string{
		"--advertise-address=127.0.0.1",
		"--authorization-mode=RBAC",
		"--bind-address=127.0.0.1",
		// No controller makes the default service account that a pod would need.
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--feature-gates=MutatingAdmissionPolicy=%t", policies),
		fmt.Sprintf("--runtime-config=admissionregistration.k8s.io/v1beta1=%t", policies),
		"--etcd-servers=" + etcd,
		fmt.Sprintf("--secure-port=%d", port),
		"--service-account-issuer=https://capstan.test",
		"--service-account-key-file=" + files.serviceAccountKey,
		"--service-account-signing-key-file=" + files.serviceAccountKey,
		"--service-cluster-ip-range=10.0.0.0/16",
		"--tls-cert-file=" + files.certificate,
		"--tls-private-key-file=" + files.key,
		"--token-auth-file=" + files.tokens,
		// Tests send many requests at once, and one of them must not wait for the others' fair share.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=4000",
		"--max-mutating-requests-inflight=2000",
	}
	if audit != "" {
		policy := filepath.Join(dir, "audit.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return nil, err
		}
		arguments = append(arguments, "--audit-policy-file="+policy, "--audit-log-path="+audit)
	}
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return nil, utilerrors.NewAggregate(errs)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- app.Run(ctx, completed) }()

	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(administrator(address, files), kubeconfig); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	started := &server{config: config, kubeconfig: kubeconfig, stopped: stopped}
	return started, started.waitReady(ctx)
}

func (s *server) wait() error { return <-s.stopped }

func (s *server) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return err
	}
	deadline := time.After(2 * time.Minute)
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case stop := <-s.stopped:
			return errors.Join(errors.New("stopped while starting"), stop)
		case <-deadline:
			return fmt.Errorf("not ready after two minutes: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

type credentials struct {
	certificate, key, serviceAccountKey, tokens string
	token                                       string
}

// writeCredentials makes a self-signed serving certificate, a key for service-account tokens and a random token.
func writeCredentials(dir string) (credentials, error) {
	files := credentials{
		certificate:       filepath.Join(dir, "server.crt"),
		key:               filepath.Join(dir, "server.key"),
		serviceAccountKey: filepath.Join(dir, "service-account.key"),
		tokens:            filepath.Join(dir, "tokens.csv"),
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return files, err
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, err
	}
	serviceAccountKey, err := keyutil.MarshalPrivateKeyToPEM(signer)
	if err != nil {
		return files, err
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return files, err
	}
	files.token = hex.EncodeToString(secret)
	return files, errors.Join(
		os.WriteFile(files.certificate, certificate, 0o600),
		os.WriteFile(files.key, key, 0o600),
		os.WriteFile(files.serviceAccountKey, serviceAccountKey, 0o600),
		os.WriteFile(files.tokens, []byte(files.token+",admin,admin,system:masters\n"), 0o600),
	)
}

func administrator(address string, files credentials) api.Config {
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: address, CertificateAuthority: files.certificate}
	config.AuthInfos["admin"] = &api.AuthInfo{Token: files.token}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "admin"}
	config.CurrentContext = "test"
	return *config
}
