#include "pipeline/runs/watch/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "pipeline/base/telemetry/console.h"
#include "sampling/core/parse.h"

namespace flowtrain::watch {
namespace {

// Switches to the other buffer without a cursor, and back. Rows that are too long are not wrapped.
constexpr std::string_view enter = "\033[?1049h\033[?25l\033[?7l\033[2J", leave = "\033[?7h\033[?25h\033[?1049l\033[0m";

// Signals that end the process unless they are handled, after the terminal was given back.
constexpr std::array fatal{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};

// Signal handlers may use only these variables.
termios normal_mode;
bool has_keys = false;
std::atomic<bool> taken = false;
std::atomic<bool> resized = false;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // another program has made the terminal non-blocking
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      if (::poll(&ready, 1, 1000) > 0) continue;
    }
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// These two functions call only what signal-safety(7) allows.
void take() {
  if (has_keys) {
    termios keys = normal_mode;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
  }
  taken = true;
  write_all(enter);
}

void give_back() {
  if (!taken.exchange(false)) return;
  write_all(leave);
  if (has_keys) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &normal_mode);
}

void on_fatal(int signal) {
  give_back();
  ::raise(signal);  // SA_RESETHAND has restored the default action
}

void on_stop(int) {
  const int before = errno;
  const bool was_taken = taken;
  give_back();
  ::raise(SIGSTOP);  // the process is stopped here until SIGCONT
  if (was_taken) take();
  resized = true;
  errno = before;
}

void on_resize(int) { resized = true; }

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  const auto number = text ? parse_number<int>(text) : std::nullopt;
  return number && *number > 0 && *number <= 1000 ? *number : otherwise;
}

bool shows_unicode() {
  ::setlocale(LC_CTYPE, "");
  return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

}  // namespace

bool has_screen() {
  const char* term = std::getenv("TERM");
  return term && *term && std::string_view(term) != "dumb" && ::isatty(STDOUT_FILENO) == 1;
}

ScreenSize screen_size() {
  static const bool unicode = shows_unicode();
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {size.ws_col, size.ws_row, unicode};
  return {from_environment("COLUMNS", 80), from_environment("LINES", 24), unicode};
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return has_screen() && !(no_colour && *no_colour);
}

Terminal::Terminal() {
  has_keys = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &normal_mode) == 0;
  for (const int signal : fatal) handle(signal, on_fatal, static_cast<int>(SA_RESETHAND));
  handle(SIGTSTP, on_stop, SA_RESTART);
  handle(SIGWINCH, on_resize, 0);  // poll() returns
  std::atexit(give_back);          // other code may end the process
  take();
}

Terminal::~Terminal() {
  for (const int signal : fatal) handle(signal, SIG_DFL, 0);
  for (const int signal : {SIGTSTP, SIGWINCH}) handle(signal, SIG_DFL, 0);
  give_back();
}

void Terminal::show(const std::vector<Row>& rows) {
  static const bool colour = wants_colour();
  const int columns = screen_size().columns;
  std::string text = "\033[H";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += rows[i].text(colour);
    if (rows[i].width() < columns) text += "\033[K";  // after a full row, this would erase the last character
    if (i + 1 < rows.size()) text += "\r\n";
  }
  write_all(text);
}

std::optional<int> Terminal::read_key(std::chrono::milliseconds wait) {
  if (unread_.empty()) {
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    const int count = resized.exchange(false) ? 0 : ::poll(&ready, has_keys ? 1 : 0, static_cast<int>(wait.count()));
    resized = false;
    if (count <= 0) return {};
    std::array<char, 64> bytes;
    const auto got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0) return 'q';
    unread_.assign(bytes.data(), static_cast<std::size_t>(got));
  }
  for (const std::string_view begin : {"\033[", "\033O"}) {
    if (!unread_.starts_with(begin) || unread_.size() < 3) continue;
    const char last = unread_[2];
    unread_.erase(0, 3);
    return last == 'D' ? key_left : last == 'C' ? key_right : 0;
  }
  const char key = unread_.front();
  unread_.erase(0, 1);
  return key;
}

}  // namespace flowtrain::watch
