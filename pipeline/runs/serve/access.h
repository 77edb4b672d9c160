#pragma once
// Checks the token of visitors.

#include <string>
#include <string_view>

#include "pipeline/base/http/request_head.h"

namespace flowtrain::serve {

/// Returns 32 random letters and digits.
std::string random_token();
/// Compares texts in a time that depends only on their length.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// Returns whether the request has the token, in the cookie of this name or as "Authorization: Bearer TOKEN".
bool has_token(const http::RequestHead& head, std::string_view cookie, std::string_view token);

}  // namespace flowtrain::serve
