#pragma once
// Turns a path on the network into a URL and the credentials for signing requests.

#include <stdexcept>
#include <string>
#include <string_view>

namespace flowtrain {

/// A remote file cannot be read. The message says what the server or the network did; the caller adds the file's name.
class RemoteError : public std::runtime_error {
 public:
  explicit RemoteError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}
  /// Returns the way out, as an imperative sentence; may be empty.
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// The location of a file.
struct RemoteLocation {
  std::string url;  ///< URL of requests
  bool s3 = false;
  std::string region = {};                           ///< region of S3
  std::string key_id = {}, secret = {}, token = {};  ///< credentials of S3; without a key_id requests are not signed
};

/// Returns whether a path starts with http://, https:// or s3://.
bool is_remote(std::string_view path);

/// Returns a path as messages show it: without user, password and query, which may be secret.
std::string public_name(std::string_view path);

/// Returns the location of a remote path. s3://bucket/key is at AWS_ENDPOINT_URL/bucket/key, or if that is not set, at
/// Amazon's address of the bucket in AWS_REGION (or AWS_DEFAULT_REGION, or us-east-1); credentials are
/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Throws RemoteError for an s3:// path without bucket
/// or key, or a key id without its secret.
RemoteLocation locate(const std::string& path);

}  // namespace flowtrain
