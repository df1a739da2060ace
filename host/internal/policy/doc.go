// Package policy decides whether a call may be made, must be asked about, or is refused, by rules over facts.
// It is pure: no I/O, no clock, no state. A [Set] is compiled once; list and call read the same one, so that
// what is listed is what can be called.
//
// A rule has an action and matchers, all of which must match. Of the rules that match, any deny wins, then
// ask, then allow; if none matches, the default decides. Order does not matter, but the first of several is
// named in the [Decision].
//
// What is not known is read strictly: it makes ask and deny rules match, except that an ask rule never
// softens a default of deny in this way, and it keeps allow rules from matching.
//
//	                                              ask, deny             allow
//	caller's value is empty, the pattern is *     matches               does not match
//	caller's value is empty, any other pattern    does not match        does not match
//	caller has no groups                          like an empty value   like an empty value
//	hints of a plugin that is not trusted         writes, destroys, is not idempotent, open world
//	hints that a trusted plugin does not give     as MCP says: the same; a read-only tool destroys nothing and is idempotent
//
//	condition on the input                        ask, deny             allow
//	a path with * meets several places            one must hold         all must hold
//	equals, value differs in kind                 does not hold         does not hold
//	notEquals, nothing is there                   holds                 does not hold
//	equals, matches, above, below: nothing there  does not hold         does not hold
//	exists: false, nothing there                  holds                 holds
//	matches, the value is no text                 holds                 does not hold
//	above, below: the value is no number          holds                 does not hold
//	a text too long for its expression (T4)       holds                 does not hold
//	matches with re:                              a part of the text    the whole text
//	the input cannot be read at all               every one holds       none holds
//
// A place is what one choice of members for every * leads to. Where nothing is there for a choice, or a *
// meets nothing to choose from, that place is one where nothing is. A value that is null is there, and is
// neither text nor number.
//
// A pattern is a text in which * stands for any characters, also none, and everything else for itself. It
// covers the whole text; in a tool's or a plugin's name * does not stand for a slash. A pattern sees text and
// nothing behind it: /tmp/* matches /tmp/../etc/passwd.
package policy
