#include "sampling/remote/location.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace flowtrain {
namespace {

constexpr std::string_view s3_scheme = "s3://";

std::string environment(const char* name, const char* fallback = "") {
  const char* value = std::getenv(name);
  return value && *value ? value : fallback;
}

/// Escapes an S3 key for a URL: all but RFC 3986's unreserved characters and the slash as %XX, which is what is signed.
std::string escape(std::string_view key) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const unsigned char c : key) {
    if (std::isalnum(c) || std::string_view("-._~/").find(static_cast<char>(c)) != std::string_view::npos) {
      escaped += static_cast<char>(c);
    } else {
      escaped += '%';
      escaped += digits[c >> 4];
      escaped += digits[c & 15];
    }
  }
  return escaped;
}

bool is_bucket(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.' || c == '_';
  });
}

RemoteLocation locate_s3(std::string_view path) {
  const auto rest = path.substr(s3_scheme.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  const std::string bucket(rest.substr(0, slash));
  if (!is_bucket(bucket) || slash + 1 >= rest.size())
    throw RemoteError("not a path of S3", "write it as s3://bucket/key.tar");
  RemoteLocation location{.url = {}, .s3 = true};
  location.region = environment("AWS_REGION", environment("AWS_DEFAULT_REGION", "us-east-1").c_str());
  location.key_id = environment("AWS_ACCESS_KEY_ID");
  if (!location.key_id.empty()) {
    location.secret = environment("AWS_SECRET_ACCESS_KEY");
    location.token = environment("AWS_SESSION_TOKEN");
    if (location.secret.empty())
      throw RemoteError("AWS_ACCESS_KEY_ID is set, but not AWS_SECRET_ACCESS_KEY", "set both, or neither");
  }
  auto endpoint = environment("AWS_ENDPOINT_URL");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const auto key = escape(rest.substr(slash + 1));
  const auto amazon = "s3." + location.region + ".amazonaws.com/";
  if (!endpoint.empty()) location.url = endpoint + '/' + bucket + '/' + key;
  // A certificate for *.s3… is not valid for names with more dots.
  else if (bucket.find('.') != bucket.npos)
    location.url = "https://" + amazon + bucket + '/' + key;
  else
    location.url = "https://" + bucket + '.' + amazon + key;
  return location;
}

}  // namespace

bool is_remote(std::string_view path) {
  return path.starts_with("http://") || path.starts_with("https://") || path.starts_with(s3_scheme);
}

std::string public_name(std::string_view path) {
  if (path.starts_with(s3_scheme)) return std::string(path);
  const auto host = path.find("://") + 3;
  const auto end = std::min(path.find_first_of("?#", host), path.size());
  const auto at = path.substr(0, std::min(path.find('/', host), end)).rfind('@');
  const auto from = at == path.npos || at < host ? host : at + 1;
  return std::string(path.substr(0, host)) + std::string(path.substr(from, end - from));
}

RemoteLocation locate(const std::string& path) {
  return path.starts_with(s3_scheme) ? locate_s3(path) : RemoteLocation{.url = path};
}

}  // namespace flowtrain
