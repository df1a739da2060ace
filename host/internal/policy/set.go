package policy

// Set is a compiled set of rules. It never changes and may be used concurrently. The zero value allows
// everything.
type Set struct {
	rules    []rule
	fallback Action
}

// Decide decides one call. input is the text that was validated, with each member name once; it is parsed
// only if a condition has to be tested. A decision without conditions allocates nothing.
func (s *Set) Decide(f *Facts, input []byte) Decision {
	var best, maybe *rule // maybe: an ask rule of which it is not known whether it matches
	how := yes
	in := lazyInput{text: input}
	for i := range s.rules {
		r := &s.rules[i]
		if best != nil && r.action <= best.action {
			continue
		}
		v := r.matches(f)
		if v != no && len(r.conditions) > 0 {
			v = min(v, r.test(&in))
		}
		switch {
		case v == no:
			continue
		case v == unknown && r.action == Ask:
			if maybe == nil {
				maybe = r
			}
			continue
		}
		best, how = r, v
		if r.action == Deny {
			break
		}
	}
	if maybe != nil && (best == nil && s.fallback < Ask || best != nil && best.action < Ask) {
		best, how = maybe, unknown
	}
	switch {
	case best == nil:
		return Decision{Action: s.fallback, Rule: "default", Why: "no rule matches"}
	case how == yes:
		return best.decision(best.why)
	case in.bad:
		return best.decision(best.whyUnread)
	}
	return best.decision(best.whyUnknown)
}

// Bounds returns the mildest and the strictest action that some input may get, as far as can be said without
// one: no input gets less than mildest or more than strictest, but conditions that exclude each other are not
// seen through.
func (s *Set) Bounds(f *Facts) (mildest, strictest Action) {
	mildest, strictest = s.fallback, Allow
	floor, certain := Allow, false // what every input gets at least; whether the default is out
	for i := range s.rules {
		r := &s.rules[i]
		v := r.matches(f)
		if v == no {
			continue
		}
		strictest = max(strictest, r.action)
		bare := len(r.conditions) == 0
		if bare {
			floor = max(floor, r.action)
		}
		if v == yes {
			mildest = min(mildest, r.action)
			certain = certain || bare
		}
	}
	if certain {
		// A rule matches whatever the input: the default is out.
		return max(floor, mildest), strictest
	}
	return max(floor, mildest), max(strictest, s.fallback)
}

// Visible reports whether the tool may be known to the caller: whether Decide could say anything but Deny.
func (s *Set) Visible(f *Facts) bool {
	mildest, _ := s.Bounds(f)
	return mildest != Deny
}

// lazyInput is parsed when it is first asked for.
type lazyInput struct {
	text      []byte
	value     any
	done, bad bool
}

// rule is a compiled Rule.
type rule struct {
	action                          Action
	plugin, toolPlugin, tool        glob
	subject, group, channel, tenant glob
	hints                           Hints
	conditions                      []condition

	name, source               string
	why, whyUnknown, whyUnread string
}

func (r *rule) decision(why string) Decision {
	return Decision{Action: r.action, Rule: r.name, Source: r.source, Why: why}
}

// matches decides everything but the conditions.
func (r *rule) matches(f *Facts) verdict {
	switch {
	case r.plugin.given() && !r.plugin.match(f.Plugin),
		r.toolPlugin.given() && !r.toolPlugin.match(f.Plugin),
		r.tool.given() && !r.tool.match(f.Tool):
		return no
	}
	if r.hints != (Hints{}) {
		readOnly, destructive, idempotent, openWorld := f.hints()
		if !agrees(r.hints.ReadOnly, readOnly) || !agrees(r.hints.Destructive, destructive) ||
			!agrees(r.hints.Idempotent, idempotent) || !agrees(r.hints.OpenWorld, openWorld) {
			return no
		}
	}
	return min(r.subject.known(f.Subject, r.action), r.channel.known(f.Channel, r.action),
		r.tenant.known(f.Tenant, r.action), r.group.anyKnown(f.Groups, r.action))
}

func agrees(want *bool, is bool) bool { return want == nil || *want == is }

// hints returns what counts: the word of a trusted plugin, completed as MCP says, else the strict reading
// (T20).
func (f *Facts) hints() (readOnly, destructive, idempotent, openWorld bool) {
	if !f.Trusted {
		return false, true, false, true
	}
	or := func(hint *bool, otherwise bool) bool {
		if hint == nil {
			return otherwise
		}
		return *hint
	}
	readOnly = or(f.Hints.ReadOnly, false)
	return readOnly, or(f.Hints.Destructive, !readOnly), or(f.Hints.Idempotent, readOnly), or(f.Hints.OpenWorld, true)
}

// test applies the conditions.
func (r *rule) test(in *lazyInput) verdict {
	if !in.done {
		var ok bool
		in.value, ok = decode(in.text)
		in.done, in.bad = true, !ok
	}
	if in.bad {
		if r.action == Allow {
			return no
		}
		return unknown
	}
	all := yes
	for i := range r.conditions {
		if all = min(all, r.conditions[i].holds(in.value, r.action)); all == no {
			break
		}
	}
	return all
}
