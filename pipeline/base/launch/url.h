#pragma once
// The forms of --dist-url, and the address of this machine that other nodes see.

#include <string>

namespace flowtrain {

/// A host and port, or a file that all ranks can open.
struct MeetingPoint {
  std::string host;  ///< empty for a file
  int port = 0;
  std::string file;  ///< absolute path
};

/// Reads tcp://host:port, tcp://[::1]:port or file:///path. Throws UserError(usage) naming --dist-url.
MeetingPoint parse_dist_url(const std::string& url);

/// Returns "tcp://host:port"; an IPv6 address gets its brackets.
std::string tcp_url(const std::string& host, int port);

/// Returns the numeric address from which this machine talks to `host`: with several nodes it is the one that the
/// others reach, whatever the machine's own name resolves to. Throws UserError(distributed) if the host is unknown or
/// unreachable.
std::string address_towards(const std::string& host, int port);

}  // namespace flowtrain
