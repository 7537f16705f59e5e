// flanneld for a Kubernetes cluster: subnets from the nodes' podCIDR, the vxlan, host-gw and alloc backends, nftables or
// iptables. The project's own main also links cloud providers whose SDKs are large, or not to be had.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/flannel-io/flannel/pkg/backend"
	_ "github.com/flannel-io/flannel/pkg/backend/alloc"
	_ "github.com/flannel-io/flannel/pkg/backend/hostgw"
	_ "github.com/flannel-io/flannel/pkg/backend/vxlan"
	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/ipmatch"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/subnet/kube"
	"github.com/flannel-io/flannel/pkg/trafficmngr"
	"github.com/flannel-io/flannel/pkg/trafficmngr/iptables"
	"github.com/flannel-io/flannel/pkg/trafficmngr/nftables"
	"k8s.io/klog/v2"
)

const resyncSeconds = 5 // how often iptables rules are looked at again

// stamped at build time
var version = "unknown"

// options are the flags of flanneld that matter in a cluster, by the same names.
type options struct {
	iface, canReach, publicIP string
	kubeconfig, apiURL        string
	netConf, subnetFile       string
	healthz                   string
	masquerade, forward       bool
}

func parse() options {
	var o options
	var port int
	var address string
	flag.StringVar(&o.iface, "iface", "", "interface or address other nodes are reached through; empty: that of the default route")
	flag.StringVar(&o.canReach, "iface-can-reach", "", "use the interface from which this address is reached")
	flag.StringVar(&o.publicIP, "public-ip", "", "address other nodes reach this one by; empty: the interface's")
	flag.StringVar(&o.kubeconfig, "kubeconfig-file", "", "kubeconfig; empty: the pod's service account")
	flag.StringVar(&o.apiURL, "kube-api-url", "", "API server; empty: what the pod or the kubeconfig says")
	flag.StringVar(&o.netConf, "net-config-path", "/etc/kube-flannel/net-conf.json", "network configuration")
	flag.StringVar(&o.subnetFile, "subnet-file", "/run/flannel/subnet.env", "what the CNI plugin reads")
	flag.StringVar(&address, "healthz-ip", "0.0.0.0", "address of /healthz")
	flag.IntVar(&port, "healthz-port", 0, "port of /healthz; 0: none")
	flag.BoolVar(&o.masquerade, "ip-masq", false, "masquerade traffic that leaves the pod network")
	flag.BoolVar(&o.forward, "iptables-forward-rules", true, "accept forwarded traffic of the pod network")
	flag.Bool("kube-subnet-mgr", true, "the only kind of subnet manager there is here; accepted for compatibility")
	show := flag.Bool("version", false, "print the version")
	klog.InitFlags(nil)
	flag.Parse()
	if *show {
		fmt.Println(version)
		os.Exit(0)
	}
	if port > 0 {
		o.healthz = net.JoinHostPort(address, fmt.Sprint(port))
	}
	return o
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, stop, parse()); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "flanneld cannot go on")
		klog.Flush()
		os.Exit(1)
	}
}

// run registers this node and serves until ctx ends. An error before that is for the pod's restart to heal.
func run(ctx context.Context, stop context.CancelFunc, o options) error {
	manager, err := kube.NewSubnetManager(ctx, o.apiURL, o.kubeconfig, "flannel.alpha.coreos.com", o.netConf, true)
	if err != nil {
		return fmt.Errorf("subnet manager: %w", err)
	}
	config, err := manager.GetNetworkConfig(ctx)
	if err != nil {
		return fmt.Errorf("network configuration %s: %w", o.netConf, err)
	}
	outside, err := o.externalInterface(ctx, manager, config)
	if err != nil {
		return fmt.Errorf("interface towards other nodes: %w", err)
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	kind, err := backend.NewManager(ctx, manager, outside).GetBackend(config.BackendType)
	if err != nil {
		return fmt.Errorf("backend %s: %w", config.BackendType, err)
	}
	network, err := kind.RegisterNetwork(ctx, &tasks, config)
	if err != nil {
		return fmt.Errorf("registering with backend %s: %w", config.BackendType, err)
	}
	if err := o.rules(ctx, config, network); err != nil {
		return err
	}
	lease := network.Lease()
	if err := manager.HandleSubnetFile(o.subnetFile, config, o.masquerade, lease.Subnet, lease.IPv6Subnet, network.MTU()); err != nil {
		return fmt.Errorf("writing %s: %w", o.subnetFile, err)
	}
	if o.healthz != "" {
		go serveHealth(ctx, stop, o.healthz)
	}
	tasks.Add(1)
	go func() {
		defer tasks.Done()
		network.Run(ctx)
	}()
	klog.InfoS("Running", "version", version, "backend", config.BackendType, "subnet", lease.Subnet, "mtu", network.MTU())
	if err := manager.CompleteLease(ctx, lease, &tasks); err != nil {
		return fmt.Errorf("completing the lease: %w", err)
	}
	<-ctx.Done()
	return nil
}

// externalInterface returns the interface that carries traffic between nodes.
func (o options) externalInterface(ctx context.Context, manager subnet.Manager, config *subnet.Config) (*backend.ExternalInterface, error) {
	stack, err := ipmatch.GetIPFamily(config.EnableIPv4, config.EnableIPv6)
	if err != nil {
		return nil, err
	}
	public := ipmatch.PublicIPOpts{PublicIP: o.publicIP}
	if stored, stored6 := manager.GetStoredPublicIP(ctx); stored != "" || stored6 != "" {
		public = ipmatch.PublicIPOpts{PublicIP: stored, PublicIPv6: stored6}
	}
	wanted := o.iface
	if wanted == "" && o.canReach == "" {
		wanted = public.PublicIP
	}
	return ipmatch.LookupExtIface(wanted, "", o.canReach, stack, public)
}

// rules sets up masquerading and forwarding, and removes what the other of nftables and iptables may have left.
func (o options) rules(ctx context.Context, config *subnet.Config, network backend.Network) error {
	managers := map[bool]trafficmngr.TrafficManager{true: &nftables.NFTablesManager{}, false: &iptables.IPTablesManager{}}
	if err := managers[!config.EnableNFTables].CleanUp(ctx); err != nil {
		return fmt.Errorf("removing rules of the other kind: %w", err)
	}
	manager := managers[config.EnableNFTables]
	if err := manager.Init(ctx); err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	if o.masquerade {
		before := previous(o.subnetFile)
		err := manager.SetupAndEnsureMasqRules(ctx, config.Network, before["SUBNET"], before["NETWORK"],
			config.IPv6Network, ip.IP6Net{}, ip.IP6Net{}, network.Lease(), resyncSeconds, false)
		if err != nil {
			return fmt.Errorf("masquerading: %w", err)
		}
	}
	if o.forward {
		manager.SetupAndEnsureForwardRules(ctx, config.Network, config.IPv6Network, resyncSeconds)
	}
	return nil
}

var subnetLine = regexp.MustCompile(`(?m)^FLANNEL_(SUBNET|NETWORK)=([0-9./]+)$`)

// previous returns what an earlier run wrote, so that its rules are found and replaced.
func previous(path string) map[string]ip.IP4Net {
	found := map[string]ip.IP4Net{}
	text, err := os.ReadFile(path)
	if err != nil {
		return found // the first run on this node
	}
	for _, words := range subnetLine.FindAllStringSubmatch(string(text), -1) {
		if _, cidr, err := net.ParseCIDR(words[2]); err == nil {
			found[words[1]] = ip.FromIPNet(cidr)
		}
	}
	return found
}

func serveHealth(ctx context.Context, stop context.CancelFunc, address string) {
	handler := http.NewServeMux()
	handler.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		klog.ErrorS(err, "health endpoint", "address", address)
		stop()
	}
}
