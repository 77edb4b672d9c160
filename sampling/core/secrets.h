#pragma once
// Secrets in texts: logins and signatures of addresses, passwords, tokens. Whatever leaves the process for people or
// for files that are shared goes through without_secrets().

#include <string>
#include <string_view>

namespace flowtrain {

/// The text that stands in the place of a secret.
inline constexpr std::string_view secret_mask = "***";

/// `text` with `***` in the place of
/// - the login and the query of an address (https://***@host/path?***), also where it is percent-encoded,
/// - values of parameters and settings whose name is that of a secret (?sig=***, password = "***", --token=***),
/// - headers such as Authorization, and tokens of well-known forms (hf_…, AKIA…, Bearer …),
/// - values of this process's environment variables with such a name, wherever they stand.
/// Other text keeps its bytes, and so does what was masked before. Any thread.
std::string without_secrets(std::string_view text);

/// Whether there is any.
bool holds_secret(std::string_view text);

/// Whether a setting, parameter or member of this name holds a secret: "api_key", "sampler.token", "AWSAccessKeyId".
bool is_secret_name(std::string_view name);
/// Whether an environment variable's name looks so. More names do: of a variable nothing is lost if it is not shown.
bool is_secret_variable(std::string_view name);

/// The value of a setting as messages show it: `***` by its name, otherwise without_secrets().
std::string shown_value(std::string_view name, std::string_view value);

}  // namespace flowtrain
