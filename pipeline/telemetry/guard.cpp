#include "pipeline/telemetry/guard.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

#include "pipeline/telemetry/console.h"
#include "pipeline/telemetry/environment.h"
#include "pipeline/telemetry/log.h"
#include "sampling/error.h"

namespace flowtrain {
namespace {

std::string user_text(const UserError& error) {
  return error.hint().empty() ? error.what() : say(error.what(), "\n  hint: ", error.hint());
}

std::string demangled(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = status == 0 ? name : type.name();
  std::free(name);
  return text;
}

// Straight to the descriptor: the thread that ends here may hold any lock of the log or the console.
void put(int file, const std::string& text) { (void)!::write(file, text.data(), text.size()); }

void report_fault(int file, const std::string& message) {
  std::array<void*, 64> frames;
  int depth = ::backtrace(frames.data(), frames.size());
  put(file, "internal error: " + message + "\n");
  ::backtrace_symbols_fd(frames.data(), depth, file);
  put(file, say("This is a fault of flowtrain: please report it with the lines above. ", program_version(), "\n"));
}

[[noreturn]] void on_terminate() {
  static std::atomic_flag busy = ATOMIC_FLAG_INIT;
  while (busy.test_and_set()) ::pause();  // another thread is at it, and ends the process
  console::erase_status_unlocked();
  try {
    if (auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const UserError& error) {
    put(STDERR_FILENO, "error: " + user_text(error) + "\n");
    ::_exit(static_cast<int>(error.code()));
  } catch (...) {
    // Described below: what was thrown is still the current exception there.
  }
  auto message = describe_current_exception();
  report_fault(STDERR_FILENO, message);
  int file = log_file().empty() ? -1 : ::open(log_file().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file >= 0) report_fault(file, message);
  ::_exit(static_cast<int>(Exit::bug));
}

}  // namespace

std::string describe_current_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (!type) return "terminated without an exception";
  try {
    throw;
  } catch (const InternalError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return say(error.what(), " (", demangled(*type), ")");
  } catch (...) {
    return say("an exception of type ", demangled(*type));
  }
}

int guarded_main(const std::function<int()>& body) {
  std::array<void*, 1> frame;
  ::backtrace(frame.data(), frame.size());  // the first call loads a library: not to be done in a broken process
  std::set_terminate(on_terminate);
  try {
    return body();
  } catch (const UserError& error) {
    console::end_status();
    log_error(user_text(error));
    return static_cast<int>(error.code());
  }
  // Others are not caught: std::terminate then runs in the frame that threw, where the stack still tells the story.
}

}  // namespace flowtrain
