#pragma once
// The answer to a request.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flowtrain::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A status, headers, and a body that is either a text or read piece by piece while it is sent.
struct Response {
  int status = 404;
  Headers headers;
  std::string body;
  std::uint64_t size_bytes = 0;                    ///< number of bytes that `part` reads
  std::function<std::string(std::uint64_t)> part;  ///< the bytes from an offset on; an empty text ends the connection

  void set_header(std::string name, std::string value) { headers.emplace_back(std::move(name), std::move(value)); }
  void set_content(std::string_view text, std::string type) {
    body = text;
    set_header("Content-Type", std::move(type));
  }
};

}  // namespace flowtrain::http
