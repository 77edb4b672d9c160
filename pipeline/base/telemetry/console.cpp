#include "pipeline/base/telemetry/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "sampling/core/mutex.h"

namespace flowtrain::console {
namespace {

// Moves to the line's start, then erases to the end of the screen. The cursor rests at the start of the status line: a
// terminal that became narrower wraps the line below the cursor, and this erases every part of it.
constexpr std::string_view erase_status = "\r\033[J";

struct State {
  Mutex mutex;
  Status status FT_GUARDED_BY(mutex);  // empty: none shown
};

// The state is never destroyed: threads may print until the very end of the process.
State& state() {
  static State* the_state = new State;
  return *the_state;
}

// Errors of standard error cannot be reported anywhere, so one ends the attempt silently.
void write_all(std::string_view text) {
  while (!text.empty()) {
    auto written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another program made the terminal non-blocking
      pollfd ready{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&ready, 1, 1000) <= 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return term && *term && std::string_view(term) != "dumb" && ::isatty(STDERR_FILENO) == 1;
}

bool has_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal() && !(no_colour && *no_colour);
}

int columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void print_line(std::string_view text) {
  State& shown = state();
  MutexLock lock(shown.mutex);
  std::string out;
  if (shown.status) out += erase_status;
  out.append(text).append("\n");
  if (shown.status) out.append(shown.status(columns())).append("\r");
  write_all(out);
}

void show_status(Status draw) {
  State& shown = state();
  MutexLock lock(shown.mutex);
  shown.status = std::move(draw);
  // The new line is written over the old one, and the rest erased: erasing first would flicker.
  write_all(shown.status(columns()).insert(0, 1, '\r').append("\033[J\r"));
}

void end_status() {
  State& shown = state();
  MutexLock lock(shown.mutex);
  if (!shown.status) return;
  write_all(std::string(erase_status) + shown.status(columns()) + "\n");
  shown.status = nullptr;
}

void erase_status_unlocked() {
  if (is_terminal()) write_all(erase_status);
}

}  // namespace flowtrain::console
