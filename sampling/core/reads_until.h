#pragma once
// A scope that says when a thread that reads stops waiting for a server.

#include <stop_token>

namespace flowtrain {

/// While it lives, a read of this thread that waits for a server that does not answer fails within a second of the
/// stop. Scopes may be nested: the innermost one counts. A read outside of any waits as long as its settings say.
class ReadsUntil {
 public:
  explicit ReadsUntil(std::stop_token stop);
  ~ReadsUntil();
  ReadsUntil(const ReadsUntil&) = delete;

  /// The stop of this thread's scope.
  static std::stop_token token();

 private:
  std::stop_token outer_;
};

}  // namespace flowtrain
