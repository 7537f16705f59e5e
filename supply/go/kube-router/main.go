// kube-router's controller of network policies beside another pod network, and nothing else of kube-router: no routes, no
// proxy, and none of the SDKs that its own main links.
//
// One chain is added to its own: new connections to a pod of this node that has no rules yet are dropped, so that a pod is
// closed while it is new, and while this program is down. It is set after the first full set of rules: before, it would
// cut off what already runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/cloudnativelabs/kube-router/v2/pkg/utils"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	syncPeriod = time.Minute // also heals rules that something else removed
	lookPeriod = time.Second
	settled    = 5 * lookPeriod // after the begin of a sync, its rules are there
	silence    = 5 * syncPeriod // without a sync: the container's restart is the remedy
	accepted   = "0x20000/0x20000"
)

// stamped at build time
var version = "unknown"

func main() {
	services := flag.String("service-cluster-ip-range", "", "addresses of Services")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig; empty: the pod's service account")
	ready := flag.String("ready-file", "/run/kube-router/ready", "written once all rules are in place")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *services, *ready); err != nil {
		klog.ErrorS(err, "The network policy controller cannot go on")
		klog.Flush()
		os.Exit(1)
	}
}

// run enforces policies until ctx ends. Its rules stay: a stopped controller opens nothing.
func run(ctx context.Context, kubeconfig, services, ready string) error {
	settings, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("access to the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(settings)
	if err != nil {
		return fmt.Errorf("access to the cluster: %w", err)
	}
	config := options.NewKubeRouterConfig()
	config.EnableIPv4 = true
	config.ClusterIPCIDRs = []string{services}
	config.IPTablesSyncPeriod = syncPeriod
	node, err := placed(ctx, client)
	if err != nil {
		return err
	}
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, policies.HasSynced, namespaces.HasSynced) {
		return fmt.Errorf("the API server did not list pods, namespaces and policies")
	}
	var lock sync.Mutex
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &lock, tables, sets)
	if err != nil {
		return err
	}
	wanted := make(chan struct{}, 1)
	for _, informer := range []cache.SharedIndexInformer{pods, policies, namespaces} {
		if _, err := informer.AddEventHandler(changes(wanted)); err != nil {
			return err
		}
	}
	beats := make(chan *healthcheck.ControllerHeartbeat, 10)
	var tasks sync.WaitGroup
	tasks.Add(1)
	go controller.Run(beats, ctx.Done(), &tasks)
	go pace(ctx, wanted, controller.RequestFullSync)
	klog.InfoS("Running", "version", version, "node", node.Name, "pods", node.Spec.PodCIDR)
	err = guard(ctx, tables[v1.IPv4Protocol], node.Spec.PodCIDR, ready, beats)
	if err == nil {
		tasks.Wait()
	}
	return err
}

// placed returns this node once it has a network for its pods: one that has just joined gets it a moment later.
func placed(ctx context.Context, client kubernetes.Interface) (*v1.Node, error) {
	for told := false; ; told = true {
		node, err := utils.GetNodeObject(client, "")
		if err != nil || node.Spec.PodCIDR != "" {
			return node, err
		}
		if !told {
			klog.InfoS("Waiting: the node has no network for its pods yet", "node", node.Name)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookPeriod):
		}
	}
}

// changes asks for a sync when something changed that rules are made of.
func changes(wanted chan<- struct{}) cache.ResourceEventHandler {
	ask := func(object any) {
		if pod, isPod := object.(*v1.Pod); isPod && pod.Status.PodIP == "" {
			return // nothing can connect to it or from it
		}
		select {
		case wanted <- struct{}{}:
		default: // asked for already
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    ask,
		DeleteFunc: ask,
		UpdateFunc: func(before, after any) {
			if old, isPod := before.(*v1.Pod); !isPod || !reflect.DeepEqual(parts(old), parts(after.(*v1.Pod))) {
				ask(after)
			}
		},
	}
}

// parts returns what rules are made of. The controller's own handlers also ask for pods on the host's network.
func parts(pod *v1.Pod) []any {
	if pod.Spec.HostNetwork {
		return nil
	}
	return []any{pod.Status.Phase, pod.Status.PodIPs, pod.Status.HostIP, pod.Labels}
}

// pace asks for the first sync at once, and for further ones at most once a period: each writes all rules of the node.
func pace(ctx context.Context, wanted <-chan struct{}, sync func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wanted:
			sync()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookPeriod):
		}
	}
}

// guard keeps the chain for new pods as the controller's rules are, and gives up when the controller is silent.
func guard(ctx context.Context, table utils.IPTablesHandler, cidr, ready string, beats <-chan *healthcheck.ControllerHeartbeat) error {
	look := time.NewTicker(lookPeriod)
	defer look.Stop()
	last, seen := time.Now(), ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beats: // a sync begins
			last, seen = time.Now(), ""
		case <-look.C:
			since := time.Since(last)
			if since > silence {
				return fmt.Errorf("no rules were written for %s", silence)
			}
			if since > settled {
				continue // nothing is new since the last look
			}
			lines, err := table.List("filter", "KUBE-ROUTER-FORWARD")
			text := strings.Join(lines, "\n")
			if err != nil || !strings.Contains(text, accepted) || cidr == "" || text == seen {
				continue // not there yet, or removed: the next sync brings it
			}
			if err := closed(ctx, table, cidr, known.FindAllStringSubmatch(text, -1)); err != nil {
				return fmt.Errorf("rules for new pods: %w", err)
			}
			seen = text
			if err := os.WriteFile(ready, nil, 0o600); err != nil {
				return err
			}
		}
	}
}

// known matches the rule for what comes to a pod.
var known = regexp.MustCompile(`(?m)^-A KUBE-ROUTER-FORWARD -d ([0-9.]+/32) .*-j KUBE-POD-FW-`)

// closed lets new connections pass to pods that have rules, and drops those to others of this node. The node's network is
// in the chain, which is replaced as a whole: a host that joins again has another one.
func closed(ctx context.Context, table utils.IPTablesHandler, cidr string, pods [][]string) error {
	const chain = "GROUNDUP-NEW-PODS"
	wanted := []string{"-N " + chain}
	for _, pod := range pods {
		if rule := "-A " + chain + " -d " + pod[1] + " -j RETURN"; !slices.Contains(wanted, rule) {
			wanted = append(wanted, rule)
		}
	}
	wanted = append(wanted, "-A "+chain+" -d "+cidr+" -j DROP")
	if there, err := table.List("mangle", chain); err != nil || !slices.Equal(there, wanted) {
		text := "*mangle\n:" + chain + " - [0:0]\n" + strings.Join(wanted[1:], "\n") + "\nCOMMIT\n"
		restore := exec.CommandContext(ctx, "iptables-restore", "--noflush", "--wait")
		restore.Stdin = strings.NewReader(text)
		if said, err := restore.CombinedOutput(); err != nil {
			return fmt.Errorf("iptables-restore: %w: %s", err, said)
		}
	}
	return table.AppendUnique("mangle", "FORWARD", "-m", "conntrack", "--ctstate", "NEW", "-j", chain)
}
