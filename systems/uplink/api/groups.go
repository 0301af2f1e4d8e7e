package api

import (
	"unicode/utf8"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table"
)

func (a *api) createGroup(c *call) (any, error) {
	g, err := parseCreateGroup(c.body)
	if err != nil {
		return nil, err
	}
	c.about = "addr " + g.addr.String()
	created, err := a.Table.CreateGroup(c.Context(), c.customer, g.addr, g.name)
	return groupOf(created), err
}

type newGroup struct {
	addr lorawan.DevAddr
	name string
}

func parseCreateGroup(body []byte) (newGroup, error) {
	var bad problems
	o := parseObject(body, &bad)
	addr, name := o.addr("addr", required), o.text("name", required, table.MaxGroupName, utf8.RuneCountInString)
	if len(bad) > 0 {
		return newGroup{}, o.failure()
	}
	return newGroup{*addr, *name}, nil
}

func (a *api) updateGroup(c *call) (any, error) {
	u, err := parseUpdateGroup(c.body)
	if err != nil {
		return nil, err
	}
	c.about = "addr " + u.addr.String()
	if u.Addr != nil {
		c.about += " to " + u.Addr.String()
	}
	g, err := a.Table.UpdateGroup(c.Context(), c.customer, u.addr, u.GroupUpdate)
	return groupOf(g), err
}

type groupUpdate struct {
	addr lorawan.DevAddr // the current one
	table.GroupUpdate
}

func parseUpdateGroup(body []byte) (groupUpdate, error) {
	var bad problems
	o := parseObject(body, &bad)
	addr, inner := o.addr("addr", required), o.object("update", required)
	update := table.GroupUpdate{
		Addr: inner.addr("addr", optional),
		Name: inner.text("name", optional, table.MaxGroupName, utf8.RuneCountInString),
	}
	if len(bad) == 0 && update.Addr == nil && update.Name == nil {
		bad.add(inner.loc, typeMissing, "name, addr or both must be there")
	}
	if len(bad) > 0 {
		return groupUpdate{}, o.failure()
	}
	return groupUpdate{*addr, update}, nil
}

func (a *api) getGroups(c *call) (any, error) {
	addrs, err := parseAddrs(c.body, optional)
	if err != nil {
		return nil, err
	}
	groups := []group{} // never null
	for _, g := range a.Table.Groups(c.customer, addrs) {
		groups = append(groups, groupOf(g))
	}
	return groups, nil
}

func (a *api) deleteGroups(c *call) (any, error) {
	addrs, err := parseAddrs(c.body, required)
	if err != nil {
		return nil, err
	}
	n, err := a.Table.DeleteGroups(c.Context(), c.customer, addrs)
	return deleted{n}, err
}

func parseAddrs(body []byte, need need) ([]lorawan.DevAddr, error) {
	var bad problems
	o := parseObject(body, &bad)
	addrs := hexList(o, "addrs", need, lorawan.ParseDevAddr)
	return addrs, o.failure()
}

func (a *api) addToGroup(c *call) (any, error) {
	m, err := parseMember(c.body)
	if err != nil {
		return nil, err
	}
	c.about = "addr " + m.addr.String() + ", dev_eui " + m.eui.String()
	err = a.Table.AddToGroup(c.Context(), c.customer, m.addr, m.eui)
	return added{true}, err
}

func (a *api) removeFromGroup(c *call) (any, error) {
	m, err := parseMember(c.body)
	if err != nil {
		return nil, err
	}
	ok, err := a.Table.RemoveFromGroup(c.Context(), c.customer, m.addr, m.eui)
	return removed{ok}, err
}

// A member is a device in a group.
type member struct {
	addr lorawan.DevAddr
	eui  lorawan.EUI
}

func parseMember(body []byte) (member, error) {
	var bad problems
	o := parseObject(body, &bad)
	addr, eui := o.addr("addr", required), o.eui("dev_eui", required)
	if len(bad) > 0 {
		return member{}, o.failure()
	}
	return member{*addr, *eui}, nil
}
