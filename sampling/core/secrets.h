#pragma once
// Masks secrets in texts: logins and signatures of addresses, passwords, tokens. All text that leaves the process for
// people or shared files passes through without_secrets().

#include <string>
#include <string_view>

namespace flowtrain {

/// The text that replaces a secret.
inline constexpr std::string_view secret_mask = "***";

/// Returns `text` with `***` instead of
/// - the login and the query of an address (https://***@host/path?***), also where it is percent-encoded,
/// - values of parameters and settings whose name is that of a secret (?sig=***, password = "***", --token=***),
/// - headers such as Authorization, and tokens of well-known forms (hf_…, AKIA…, Bearer …),
/// - values of this process's environment variables with such a name, wherever they stand.
/// Other text keeps its bytes, and so does what was masked before. Any thread.
std::string without_secrets(std::string_view text);

/// Returns whether the text holds a secret.
bool holds_secret(std::string_view text);

/// Returns whether a value of this name is a secret: "api_key", "sampler.token", "AWSAccessKeyId".
bool is_secret_name(std::string_view name);
/// Returns whether an environment variable may hold a secret. More names match: hiding a variable costs nothing.
bool is_secret_variable(std::string_view name);

/// Returns the value of a setting as messages show it: `***` for a secret name, otherwise without_secrets().
std::string shown_value(std::string_view name, std::string_view value);

}  // namespace flowtrain
