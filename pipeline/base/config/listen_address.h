#pragma once
// The address at which a server of a run listens, as a value of the configuration.

#include <optional>
#include <string>

namespace flowtrain {

class Settings;

struct ListenAddress {
  std::string host;
  int port = 0;  ///< 0: any that is free
};

/// Reads "9400", "localhost:9400" or "[::1]:9400"; without a host it is 127.0.0.1, so that only this machine gets in.
/// Returns nothing for an empty text. Throws UserError(usage) naming the key.
std::optional<ListenAddress> listen_address(const Settings& settings, const std::string& key);

}  // namespace flowtrain
