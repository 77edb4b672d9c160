#pragma once
// Which of this machine's addresses the other nodes see.

#include <string>

namespace flowtrain {

/// The numeric address that this machine speaks from when it talks to `host`: on several nodes the one that the others
/// reach, whatever the machine's own name resolves to. Throws UserError(distributed) where the host is not known or no
/// route leads there.
std::string address_towards(const std::string& host, int port);

}  // namespace flowtrain
