// Package loopback is the connection between a host and a plugin on systems where a
// process cannot inherit one end of a socket pair, as Windows. Both ends are here,
// and work on every system.
//
// # What is on the wire
//
//  1. The host makes a key and a certificate for this one process, and 32 random
//     bytes, the token. It writes one line to the lifeline before it starts the process:
//     the word toolplugin.v1, the token and the SHA-256 of its certificate (DER), both as
//     64 lower-case hexadecimal digits, with one space between the three.
//  2. The plugin reads that line, listens on 127.0.0.1 at a port that the system
//     chooses (P2), makes a key and a certificate of its own, and announces the
//     network tcp and the address 127.0.0.1:PORT#HASH in its handshake, where HASH is the SHA-256 of
//     its certificate.
//  3. The host connects. TLS 1.3 on both sides, keys and exchange on P-256, no tickets. Each
//     side takes the one certificate whose hash it knows, whatever names and dates are in it.
//  4. The plugin sends the token as the first 32 bytes. Whoever knows it has read the lifeline.
//     What follows is the connection, such as HTTP/2 as if there were no TLS.
//
// The plugin takes one connection: the first that gets as far as 4. Then it listens no more.
// Nothing secret is in an argument, a variable or a file, and all of it is
// P-256, SHA-256 and AES-GCM, or what else the TLS library allows in FIPS mode (S9).
//
// # What it defends
//
// A stranger of any user can connect to the port; without the host's key it is
// refused, and the host does not wait behind it (S6). Somebody who listens at the announced
// address in the plugin's place has neither the plugin's key nor the token, and is told
// nothing. A flood of connections can keep the host out, so that the start fails. A
// process of the same user that may read the memory of either side can do what it likes.
package loopback
