#include "pipeline/runs/serve/access.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"

namespace flowtrain::serve {

std::string random_token() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw InternalError(concat("cannot draw random numbers: ", std::strerror(errno)));
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

bool has_token(const http::RequestHead& head, std::string_view cookie, std::string_view token) {
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
