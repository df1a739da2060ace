package launch

import "os"

// fork makes a process in a session of its own.
func (r forkRequest) fork() (c child, err error) {
	if err := r.lacking(&c); err != nil {
		return c, err
	}
	if r.spec.Sandbox.PID {
		c.uncovered = append(c.uncovered,
			"no parent-death signal on this system: a plugin that does not read its lifeline survives a killed host",
			"no pid namespaces on this system: a descendant that leaves the plugin's group survives it")
	}
	c.proc, err = os.StartProcess(r.spec.Binary, r.argv(), r.attr())
	return c, err
}
