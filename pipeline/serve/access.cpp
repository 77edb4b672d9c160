#include "pipeline/serve/access.h"

#include <arpa/inet.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"

namespace flowtrain::serve {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// "[::1]:8700" → "::1"; nothing where it is neither a name nor an address with a port.
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

std::string machine_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return lower_case(name.data());
}

bool is_own_host(std::string_view header, std::string_view served_host) {
  const auto host = without_port(header);
  if (!host || host->empty()) return false;
  return is_address(*host) || *host == "localhost" || *host == machine_name() || *host == lower_case(served_host);
}

std::string random_token() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw InternalError(concat("no random numbers: ", std::strerror(errno)));
  std::string token;
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) token += "0123456789abcdef"[digit];
  return token;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different =
        static_cast<unsigned char>(different | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  return different == 0;
}

bool has_token(const RequestHead& head, std::string_view cookie, std::string_view token) {
  constexpr std::string_view bearer = "Bearer ";
  if (const auto found = head.headers.find("authorization"); found != head.headers.end())
    if (found->second.starts_with(bearer))
      return equal_in_constant_time(std::string_view(found->second).substr(bearer.size()), token);
  const auto found = head.headers.find("cookie");
  std::string_view cookies = found == head.headers.end() ? std::string_view() : std::string_view(found->second);
  while (!cookies.empty()) {
    const auto end = std::min(cookies.find(';'), cookies.size());
    const auto pair = trimmed(cookies.substr(0, end), " ");
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    const auto equals = pair.find('=');
    if (equals != pair.npos && pair.substr(0, equals) == cookie &&
        equal_in_constant_time(pair.substr(equals + 1), token))
      return true;
  }
  return false;
}

}  // namespace flowtrain::serve
