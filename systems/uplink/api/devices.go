package api

import (
	"math"
	"strconv"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table"
)

func (a *api) selectDevices(c *call) (any, error) {
	filter, err := parseSelect(c.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	return a.Table.Select(c.customer, filter), nil
}

// parseSelect reads the query of a select. Without a DevEUI every device is
// meant, and without a limit the whole list.
func parseSelect(query string) (table.Filter, error) {
	filter := table.Filter{Limit: -1}
	var bad problems
	for key, value := range parameters(query) {
		switch key {
		case "DevEUIs":
			eui, err := lorawan.ParseEUI(value)
			if err != nil {
				bad.add([]any{"query", key, len(filter.DevEUIs)}, typeValue, "%s", plain(err))
			}
			filter.DevEUIs = append(filter.DevEUIs, eui)
		case "offset":
			filter.Offset = count(&bad, key, value)
		case "limit":
			filter.Limit = count(&bad, key, value)
		}
	}
	return filter, bad.failure("query")
}

func count(bad *problems, key, value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		bad.add([]any{"query", key}, typeValue, "%.40q is not a whole number from 0 to %d", value, math.MaxInt)
	}
	return n
}

func (a *api) insertDevice(c *call) (any, error) {
	new, err := parseInsert(c.body)
	if err != nil {
		return nil, err
	}
	c.about = "DevEUI " + new.DevEUI.String()
	d, err := a.Table.Insert(c.Context(), c.customer, new)
	return device(d), err
}

// parseInsert reads a new device. JoinEUI and DevAddr exclude each other in the
// specification, but every bridge sends both.
func parseInsert(body []byte) (table.NewDevice, error) {
	var bad problems
	o := parseObject(body, &bad)
	eui := o.eui("DevEUI", required)
	new := table.NewDevice{
		JoinEUI: o.eui("JoinEUI", optional),
		DevAddr: o.addr("DevAddr", optional),
		Details: o.text("Details", optional, table.MaxDetails, func(s string) int { return len(s) }),
	}
	if len(bad) == 0 && new.JoinEUI == nil && new.DevAddr == nil {
		bad.add(o.loc, typeMissing, "JoinEUI, DevAddr or both must be there")
	}
	if len(bad) > 0 {
		return table.NewDevice{}, o.failure()
	}
	new.DevEUI = *eui
	return new, nil
}

func (a *api) updateDevice(c *call) (any, error) {
	u, err := parseUpdate(c.body)
	if err != nil {
		return nil, err
	}
	c.about = "DevEUI " + u.eui.String() + ", JoinEUI " + u.join.String()
	d, err := a.Table.Update(c.Context(), c.customer, u.eui, u.join, u.Update)
	return device(d), err
}

type deviceUpdate struct {
	eui, join lorawan.EUI
	table.Update
}

func parseUpdate(body []byte) (deviceUpdate, error) {
	var bad problems
	o := parseObject(body, &bad)
	eui, join := o.eui("DevEUI", required), o.eui("JoinEUI", required)
	update := table.Update{Active: o.addr("ActiveDevAddr", notNull), Target: o.addr("TargetDevAddr", notNull)}
	if len(bad) == 0 && update.Active == nil && update.Target == nil {
		bad.add(o.loc, typeMissing, "ActiveDevAddr, TargetDevAddr or both must be there")
	}
	if len(bad) > 0 {
		return deviceUpdate{}, o.failure()
	}
	return deviceUpdate{*eui, *join, update}, nil
}

func (a *api) dropDevices(c *call) (any, error) {
	euis, err := parseDrop(c.body)
	if err != nil {
		return nil, err
	}
	n, err := a.Table.Drop(c.Context(), c.customer, euis)
	return deleted{n}, err
}

func parseDrop(body []byte) ([]lorawan.EUI, error) {
	var bad problems
	o := parseObject(body, &bad)
	euis := hexList(o, "DevEUIs", required, lorawan.ParseEUI)
	return euis, o.failure()
}

func (a *api) dropAllDevices(c *call) (any, error) {
	n, err := a.Table.DropAll(c.Context(), c.customer)
	return deleted{n}, err
}
