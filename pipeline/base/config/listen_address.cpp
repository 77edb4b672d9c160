#include "pipeline/base/config/listen_address.h"

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"

namespace flowtrain {

std::optional<ListenAddress> listen_address(const Settings& settings, const std::string& key) {
  const std::string& text = settings.text(key);
  if (text.empty()) return std::nullopt;
  const auto colon = text.rfind(':');
  std::string host = colon == text.npos ? "127.0.0.1" : text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto port = parse_number<int>(colon == text.npos ? text : text.substr(colon + 1));
  const bool is_host = !host.empty() && host.find_first_of(bracketed ? "[]/@ " : "[]/@ :") == host.npos;
  if (!port || *port < 0 || *port > 65535 || !is_host)
    throw settings.error(key, "\"" + text + "\" is no address to listen at", ExitCode::usage,
                         "expected PORT or HOST:PORT, as in \"9400\", \"0.0.0.0:9400\" or \"[::1]:9400\"");
  return ListenAddress{host, *port};
}

}  // namespace flowtrain
