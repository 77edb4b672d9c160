#pragma once
// Where ranks meet: the forms of --dist-url.

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

/// "tcp://host:port"; an IPv6 address gets its brackets.
std::string tcp_url(const std::string& host, int port);

}  // namespace flowtrain
