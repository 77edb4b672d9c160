#include "pipeline/base/http/host.h"

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "stages/system/host_name.h"

namespace flowtrain::http {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Turns "[::1]:8700" into "::1"; returns nothing unless it is a name or address with or without a port.
std::optional<std::string> without_port(std::string_view header) {
  std::string_view host = header, port;
  if (header.starts_with('[')) {
    const auto end = header.find(']');
    if (end == header.npos) return {};
    host = header.substr(1, end - 1);
    port = header.substr(end + 1);
  } else if (const auto colon = header.find(':'); colon != header.npos) {
    host = header.substr(0, colon);
    port = header.substr(colon);
  }
  if (!port.empty() && (port[0] != ':' || !parse_number<std::uint16_t>(port.substr(1)))) return {};
  return lower_case(host);
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_address(std::string(host)));
}

bool is_own_host(std::string_view header, std::string_view served_host) {
  const auto host = without_port(header);
  if (!host || host->empty()) return false;
  return is_address(*host) || *host == "localhost" || *host == lower_case(host_name()) ||
         *host == lower_case(served_host);
}

std::string host_and_port(const std::string& host, int port) {
  return concat(host.find(':') == host.npos ? host : "[" + host + "]", ":", port);
}

}  // namespace flowtrain::http
