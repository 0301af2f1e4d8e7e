package script

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/setting"
)

// A netOptions is what options say about which addresses are connected to, and how: dns, blacklistIPs, blockHostnames,
// tlsVersion and tlsCipherSuites.
type netOptions struct {
	names    naming
	refused  []netip.Prefix
	blocked  []string
	min, max uint16
	suites   []uint16
}

// A naming is the option dns: how the address of a name is chosen.
type naming struct {
	set            bool // else the system chooses
	keep           time.Duration
	choice, policy string
}

// Defaults of dns, where it is given but not all of it.
const (
	dnsChoice = "random"
	dnsPolicy = "preferIPv4"
	dnsKeep   = 5 * time.Minute
	forever   = 100 * 365 * 24 * time.Hour
)

func (o *Options) readDNS(raw json.RawMessage) error {
	var given struct {
		TTL    json.RawMessage `json:"ttl"`
		Select string          `json:"select"`
		Policy string          `json:"policy"`
	}
	if err := decode(raw, &given); err != nil {
		return err
	}
	n := naming{true, dnsKeep, cmp.Or(given.Select, dnsChoice), cmp.Or(given.Policy, dnsPolicy)}
	var errs []error
	if strings.Trim(string(given.TTL), `"`) == "inf" {
		n.keep = forever
	} else if given.TTL != nil {
		var err error
		if n.keep, err = readDuration(given.TTL); err != nil {
			errs = append(errs, fmt.Errorf("ttl %w", err))
		}
	}
	for _, one := range []struct {
		name, value string
		of          []string
	}{
		{"select", n.choice, []string{"first", "random", "roundRobin"}},
		{"policy", n.policy, []string{"preferIPv4", "preferIPv6", "onlyIPv4", "onlyIPv6", "any"}},
	} {
		if !slices.Contains(one.of, one.value) {
			errs = append(errs, fmt.Errorf("%s is %q; expected %s", one.name, one.value, setting.Or(one.of)))
		}
	}
	o.connecting.names = n
	return errors.Join(errs...)
}

// readRefused reads blacklistIPs: addresses, and ranges such as 10.0.0.0/8.
func (o *Options) readRefused(raw json.RawMessage) error {
	var list []string
	if err := decode(raw, &list); err != nil {
		return err
	}
	var errs []error
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if one, is := netip.ParseAddr(text); is == nil {
			prefix, err = one.Prefix(one.BitLen())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("has %q; expected addresses and ranges such as 10.0.0.0/8", text))
		}
		o.connecting.refused = append(o.connecting.refused, prefix)
	}
	return errors.Join(errs...)
}

// readBlocked reads blockHostnames: names, with a * perhaps in place of their beginning.
func (o *Options) readBlocked(raw json.RawMessage) error {
	if err := decode(raw, &o.connecting.blocked); err != nil {
		return err
	}
	return checkPatterns(o.connecting.blocked)
}

// checkPatterns refuses a * that is not at the beginning.
func checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		if strings.LastIndex(pattern, "*") > 0 {
			return fmt.Errorf("has %q; expected names, with a * at their beginning only, as in *.example.com", pattern)
		}
	}
	return nil
}

// matching is the pattern of a name: the name itself, or else the longest with a *; "": none.
func matching(patterns []string, name string) (found string) {
	name = strings.ToLower(name)
	for _, pattern := range patterns {
		end, wild := strings.CutPrefix(strings.ToLower(pattern), "*")
		if !wild && end == name {
			return pattern
		}
		if wild && strings.HasSuffix(name, end) && len(pattern) > len(found) {
			found = pattern
		}
	}
	return found
}

// tlsNames are the versions by which options call them.
var tlsNames = map[string]uint16{"tls1.0": tls.VersionTLS10, "tls1.1": tls.VersionTLS11, "tls1.2": tls.VersionTLS12, "tls1.3": tls.VersionTLS13, "": 0}

// readTLSVersion reads one version, or the least and the most.
func (o *Options) readTLSVersion(raw json.RawMessage) error {
	var given struct{ Min, Max string }
	if json.Unmarshal(raw, &given.Min) == nil {
		given.Max = given.Min
	} else if err := decode(raw, &given); err != nil {
		return err
	}
	for _, one := range []string{given.Min, given.Max} {
		if _, known := tlsNames[one]; !known {
			return fmt.Errorf("is %q; expected tls1.0, tls1.1, tls1.2 or tls1.3", one)
		}
	}
	o.connecting.min, o.connecting.max = tlsNames[given.Min], tlsNames[given.Max]
	return nil
}

// readTLSSuites reads names of cipher suites.
func (o *Options) readTLSSuites(raw json.RawMessage) error {
	var names []string
	if err := decode(raw, &names); err != nil {
		return err
	}
	known := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	for _, name := range names {
		i := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			return fmt.Errorf("has %q, which is no cipher suite that there is", name)
		}
		if slices.Max(known[i].SupportedVersions) < tls.VersionTLS13 { // those of TLS 1.3 cannot be chosen
			o.connecting.suites = append(o.connecting.suites, known[i].ID)
		}
	}
	return nil
}

// looksUp reports whether names are looked up here, and not by the system when it connects.
func (c *netOptions) looksUp() bool { return c.names.set || len(c.refused) > 0 }

// A refusedAddress is why options do not let a script connect: the number of the error on k6's page of error codes.
type refusedAddress int

const (
	blockedName   refusedAddress = 1111
	blacklistedIP refusedAddress = 1110
)

func (r refusedAddress) Error() string {
	if r == blockedName {
		return "hostname is blocked"
	}
	return "ip is blacklisted"
}

// where returns the address to connect to for host:port.
func (t *Target) where(ctx context.Context, hostPort string) (string, error) {
	c := &t.Options.connecting
	host, _, err := net.SplitHostPort(hostPort)
	if err == nil && net.ParseIP(host) == nil && matching(c.blocked, host) != "" {
		return "", blockedName
	}
	to := t.Options.address(hostPort)
	host, port, err := net.SplitHostPort(to)
	if !c.looksUp() || err != nil {
		return to, nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		ip, err = t.named.find(ctx, c.names, host)
	}
	if err != nil {
		return "", err
	}
	for _, prefix := range c.refused {
		if prefix.Contains(ip) {
			return "", blacklistedIP
		}
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// at is where, for what throws an exception otherwise.
func (v *vu) at(hostPort string) (to string) {
	var err error
	find := func(ctx context.Context) { to, err = v.target.where(ctx, hostPort) }
	if v.target.Options.connecting.looksUp() {
		v.away(find)
	} else {
		find(v.ctx)
	}
	if err != nil {
		v.throw("%v", err)
	}
	return to
}

// named keeps the addresses of names. The zero value has none.
type named struct {
	mu  sync.Mutex
	all map[string]*addresses
}

type addresses struct {
	list  []netip.Addr
	until time.Time
	asked int
}

// find returns an address of a name, as dns says.
func (n *named) find(ctx context.Context, how naming, name string) (netip.Addr, error) {
	n.mu.Lock()
	known := n.all[name]
	n.mu.Unlock()
	if known == nil || time.Now().After(known.until) {
		list, err := new(net.Resolver).LookupNetIP(ctx, "ip", name)
		if list = how.allowed(list); err == nil && len(list) == 0 {
			err = &net.DNSError{Err: "no address that options.dns allows", Name: name, IsNotFound: true}
		}
		if err != nil {
			return netip.Addr{}, err
		}
		known = &addresses{list: list, until: time.Now().Add(how.keep)}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]*addresses{}
	}
	n.all[name] = known
	known.asked++
	switch how.choice {
	case "roundRobin":
		return known.list[(known.asked-1)%len(known.list)], nil
	case "random":
		return known.list[rand.N(len(known.list))], nil
	}
	return known.list[0], nil
}

// allowed are those of the family that the policy asks for.
func (n naming) allowed(list []netip.Addr) (some []netip.Addr) {
	v4 := strings.HasSuffix(n.policy, "IPv4")
	for i, ip := range list {
		if list[i] = ip.Unmap(); n.policy == "" || n.policy == "any" || list[i].Is4() == v4 {
			some = append(some, list[i])
		}
	}
	if len(some) == 0 && strings.HasPrefix(n.policy, "prefer") {
		return list
	}
	return some
}
