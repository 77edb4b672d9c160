#pragma once
// Who may look: the name by which a browser asks, and the token.

#include <string>
#include <string_view>

#include "pipeline/serve/request_head.h"

namespace flowtrain::serve {

/// Whether only programs of this machine reach the address: "127.0.0.1", "::1", "localhost".
bool is_loopback(std::string_view host);

/// Whether a Host header names this server: an IP address, localhost, this machine's name, or `served_host`, with any
/// port, as tunnels have others. A page of a foreign name that was made to lead here (DNS rebinding) is refused.
bool is_own_host(std::string_view header, std::string_view served_host);

/// This machine's name, in lower case.
std::string machine_name();

/// 32 random letters and digits.
std::string random_token();
/// Takes as long for any text of the same length.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// Whether the request has the token, in the cookie of this name or as "Authorization: Bearer TOKEN".
bool has_token(const RequestHead& head, std::string_view cookie, std::string_view token);

}  // namespace flowtrain::serve
