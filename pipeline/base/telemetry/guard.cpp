#include "pipeline/base/telemetry/guard.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <typeinfo>

#include "pipeline/base/telemetry/console.h"
#include "pipeline/base/telemetry/environment.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

std::string user_text(const UserError& error) {
  return without_secrets(error.hint().empty() ? error.what() : concat(error.what(), "\n  hint: ", error.hint()));
}

std::string demangled(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = status == 0 ? name : type.name();
  std::free(name);
  return text;
}

// Writes straight to the descriptor: the thread that ends here may hold any lock of the log or the console.
void put(int file, std::string_view text) { (void)!::write(file, text.data(), text.size()); }

// Calls `report` with the descriptors of standard error and of the log file.
template <class Report>
[[noreturn]] void end_process(ExitCode code, const Report& report) {
  report(STDERR_FILENO);
  if (const int file = open_log_file(); file >= 0) report(file);
  ::_exit(static_cast<int>(code));
}

void report_fault(int file, const std::string& message) {
  std::array<void*, 64> frames;
  int depth = ::backtrace(frames.data(), frames.size());
  put(file, "internal error: " + message + "\n");
  ::backtrace_symbols_fd(frames.data(), depth, file);
  put(file, concat("This is a bug in flowtrain: please report it with the lines above. ", program_version(), "\n"));
}

std::atomic<std::chrono::milliseconds> time_for_losses{std::chrono::milliseconds(0)};

// The type is compared by name, since the program does not link LibTorch.
bool is_loss(const std::type_info& type) { return demangled(type).starts_with("c10::Dist"); }

[[noreturn]] void end_with_loss() {
  std::this_thread::sleep_for(time_for_losses.load());
  console::erase_status_unlocked();
  std::string reason;
  try {
    throw;
  } catch (const std::exception& error) {
    reason = without_secrets(first_line(error.what()));
  } catch (...) {
    reason = "no reason is known";
  }
  end_process(ExitCode::distributed, [&](int file) { put(file, "error: lost the other processes: " + reason + "\n"); });
}

// Reports an allocator's exception. It takes no memory itself.
void report_shortage(int file, const std::exception& error) {
  put(file, "error: out of memory");
  const std::string_view text = error.what();  // LibTorch's text continues with a stack
  if (!dynamic_cast<const std::bad_alloc*>(&error))
    for (auto part : {std::string_view(": "), text.substr(0, text.find('\n'))}) put(file, part);
  for (auto part : {"\n  hint: ", out_of_memory_hint, "\n"}) put(file, part);
}

[[noreturn]] void on_terminate() {
  static std::atomic_flag busy = ATOMIC_FLAG_INIT;
  while (busy.test_and_set()) ::pause();  // another thread is reporting, and ends the process
  if (const auto* thrown = abi::__cxa_current_exception_type(); thrown && is_loss(*thrown)) end_with_loss();
  console::erase_status_unlocked();
  try {
    if (auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const UserError& error) {
    put(STDERR_FILENO, "error: " + user_text(error) + "\n");
    ::_exit(static_cast<int>(error.code()));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      end_process(ExitCode::usage, [&](int file) {
        put(file, concat("error: the system has no room for another thread or process: ", error.what(),
                         "\n  hint: raise the limit (ulimit -u, or pids.max of the container)\n"));
      });
  } catch (const std::exception& error) {
    if (ran_out_of_memory(error)) end_process(ExitCode::usage, [&](int file) { report_shortage(file, error); });
  } catch (...) {
    // The exception is described below: it is still the current one there.
  }
  const auto message = without_secrets(describe_current_exception());
  end_process(ExitCode::bug, [&](int file) { report_fault(file, message); });
}

}  // namespace

void give_losses_time(std::chrono::milliseconds span) { time_for_losses = span; }

std::string describe_current_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (!type) return "terminated without an exception";
  try {
    throw;
  } catch (const InternalError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return concat(error.what(), " (", demangled(*type), ")");
  } catch (...) {
    return concat("an exception of type ", demangled(*type));
  }
}

int guarded_main(const std::function<int()>& body) {
  std::array<void*, 1> frame;
  ::backtrace(frame.data(), frame.size());  // the first call loads a library, which must not happen in a broken process
  std::set_terminate(on_terminate);
  try {
    return body();
  } catch (const UserError& error) {
    console::end_status();
    log_error(user_text(error));
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    console::end_status();
    log_error(user_text(OutOfMemory("out of memory")));
    return static_cast<int>(ExitCode::usage);
  }
  // Other exceptions are not caught: std::terminate then runs in the frame that threw, with the stack intact.
}

}  // namespace flowtrain
