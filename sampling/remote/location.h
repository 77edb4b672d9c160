#pragma once
// Turns a path on the network into a URL and the credentials that requests are signed with.

#include <stdexcept>
#include <string>
#include <string_view>

namespace flowtrain {

/// A remote file cannot be read. The message says what the server or the network did; the caller adds which file it
/// was.
class RemoteError : public std::runtime_error {
 public:
  explicit RemoteError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}
  /// The way out, as an imperative sentence; may be empty.
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// Where a file lies.
struct RemoteLocation {
  std::string url;  ///< to request
  bool s3 = false;
  std::string region = {};                           ///< of S3
  std::string key_id = {}, secret = {}, token = {};  ///< for S3; without a key_id requests are not signed
};

/// Whether a path starts with http://, https:// or s3://.
bool is_remote(std::string_view path);

/// A path as messages show it: without user, password and query, which may be secret.
std::string public_name(std::string_view path);

/// The location of a remote path. s3://bucket/key lies at AWS_ENDPOINT_URL/bucket/key, or where that is not set, at
/// Amazon's address of the bucket in AWS_REGION (or AWS_DEFAULT_REGION, or us-east-1); credentials are
/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Throws RemoteError for an s3:// path without bucket
/// or key, or a key id without its secret.
RemoteLocation locate(const std::string& path);

}  // namespace flowtrain
