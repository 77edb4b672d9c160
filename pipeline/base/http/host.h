#pragma once
// Names and addresses of a server.

#include <string>
#include <string_view>

namespace flowtrain::http {

/// Returns whether only programs of this machine reach the address: "127.0.0.1", "::1", "localhost".
bool is_loopback(std::string_view host);

/// Returns whether a Host header names this server: an IP address, localhost, this machine's name, or `served_host`,
/// with any port. A page of a foreign name that was made to lead here (DNS rebinding) is refused.
bool is_own_host(std::string_view header, std::string_view served_host);

/// Returns "127.0.0.1:8700" or "[::1]:8700".
std::string host_and_port(const std::string& host, int port);

}  // namespace flowtrain::http
