package chaos

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/switchyard-ml/switchyard/cluster"
)

// parties are the addresses and keys by which the processes find each other, and their command lines. All connect by
// TLS.
//
// With servers in the workers, these join the broker to one cluster. The coordinator knows the broker alone; a worker
// speaks to the server of its own process, and to the broker when that one reaches nobody.
type parties struct {
	servers bool
	secrets string // folder with the keys
	route   string // folder with what a server of a worker needs; empty: there are none
	nats    string // host:port of the broker
	routes  string // host:port of the broker's routes; empty: it takes none
	page    string // host:port of the coordinator's page
}

// newParties makes keys and finds addresses.
func newParties(cfg Config) (*parties, error) {
	p := &parties{servers: cfg.Servers, secrets: filepath.Join(cfg.Folder, "keys")}
	if _, err := cluster.Init(cluster.InitConfig{Dir: p.secrets, Hosts: []string{host}}, time.Now()); err != nil {
		return nil, fmt.Errorf("make keys: %w", err)
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	p.nats, p.page = ports[0], ports[1]
	if !p.servers {
		return p, nil
	}
	p.routes, p.route = ports[2], filepath.Join(cfg.Folder, "route")
	if err := cluster.HandOut(p.secrets, cluster.RoleRoute, p.route); err != nil {
		return nil, fmt.Errorf("hand out the certificate of routes: %w", err)
	}
	return p, nil
}

// link are the flags by which a role reaches the broker. Who is as on a host of its own shares no memory.
func (p *parties) link(role string) []string {
	list := []string{
		"--nats", "tls://" + p.nats, "--nkey", filepath.Join(p.secrets, role+".nk"), "--tls-ca",
		filepath.Join(p.secrets, cluster.CA),
	}
	if p.servers {
		list = append(list, "--shared-memory", "off")
	}
	return list
}

// broker is the command line of the broker.
func (p *parties) broker() []string {
	list := []string{"broker", "--listen", p.nats, "--keys", p.secrets, "--tls"}
	if p.servers {
		list = append(list, "--cluster", p.routes)
	}
	return list
}

// coordinator is the command line of the coordinator: the same at every start, so that it goes on with the run of
// its name. All its folders are those of the test: in others it would go on with what the user has interrupted.
func (p *parties) coordinator(cfg Config) []string {
	return append([]string{
		"coordinator", "--config", cfg.Settings, "--name", cfg.Name, "--runs-dir", filepath.Join(cfg.Folder, "runs"),
		"--sweeps-dir", filepath.Join(cfg.Folder, "sweeps"), "--web", p.page,
	}, p.link("coordinator")...)
}

// worker is the command line of a worker of so many slots, with a server that joins the broker's cluster if there
// are servers.
func (p *parties) worker(id string, slots int) []string {
	list := append([]string{"worker", "--slots", strconv.Itoa(slots), "--id", id}, p.link("worker")...)
	if p.servers {
		list = append(list, "--cluster", host+":0", "--cluster-seed", p.routes, "--keys", p.route)
	}
	return list
}

// Ports that freePorts chooses from. Systems give higher ones to connections and to listeners that name none (from
// 32768 on Linux, from 49152 elsewhere): another process could have the port of a broker whenever that one is down.
const (
	firstPort = 20000
	endPorts  = 32768
)

// freePorts returns n different addresses that are free. Another process may take one before it is used, but only by
// name. The search begins anywhere, so that two of them find different ones.
func freePorts(n int) ([]string, error) {
	var list []string
	begin := int(time.Now().UnixNano() % (endPorts - firstPort))
	for i := range endPorts - firstPort {
		port := firstPort + (begin+i)%(endPorts-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close()
		if list = append(list, l.Addr().String()); len(list) == n {
			return list, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports on %s: from %d to %d are %d", n, host, firstPort, endPorts-1, len(list))
}

// reached is what a process logs when its server reaches others.
var reached = regexp.MustCompile(`servers of the cluster: reached=[1-9]`)

// joined reports whether the server of a child's latest incarnation has reached another one.
func (c *fleet) joined(x *child) (bool, error) {
	data, err := os.ReadFile(c.log(x))
	if err != nil {
		return false, fmt.Errorf("read the log of a process: %w", err)
	}
	return reached.Match(data[min(int(x.logged), len(data)):]), nil
}
