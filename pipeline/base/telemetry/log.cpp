#include "pipeline/base/telemetry/log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>

#include "pipeline/base/telemetry/console.h"
#include "sampling/core/error.h"
#include "sampling/core/secrets.h"

namespace flowtrain {
namespace {

namespace level = spdlog::level;

std::string coloured(const char* code, const char* text) {
  return console::has_colour() ? concat("\033[", code, "m", text, "\033[0m") : text;
}

// This needs no mutex of its own: the console has one.
class ConsoleSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string line;
    if (message.level == level::warn) line = coloured("1;33", "warning:") + " ";
    if (message.level == level::err) line = coloured("1;31", "error:") + " ";
    line.append(message.payload.data(), message.payload.size());
    console::print_line(line);
  }
  void flush_() override {}
};

struct Log {
  Log() : logger("flowtrain", {console_sink, record}) {
    record->add_sink(early);
    console_sink->set_level(level::info);
    logger.set_level(level::debug);
    logger.flush_on(level::debug);  // a killed run must not lose its last lines
    logger.set_error_handler([this](const std::string& what) {
      if (!failed.exchange(true)) console::print_line(coloured("1;33", "warning:") + " the log file has gaps: " + what);
    });
  }

  std::shared_ptr<ConsoleSink> console_sink = std::make_shared<ConsoleSink>();
  // Holds `early` until there is a file, then the file: a logger's own sinks may not change during use.
  std::shared_ptr<spdlog::sinks::dist_sink_mt> record = std::make_shared<spdlog::sinks::dist_sink_mt>();
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> early = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(256);
  spdlog::logger logger;
  std::filesystem::path path;
  int descriptor = -1;  ///< handle of the file itself: another file may have its path by now
  std::atomic<bool> failed = false;
};

// The log is never destroyed: threads may log until the very end of the process.
Log& the_log() {
  static Log* log = new Log;
  return *log;
}

void write(level::level_enum severity, std::string_view text) {
  std::string masked;
  try {
    text = masked = without_secrets(text);
  } catch (const std::bad_alloc&) {
    text = text.substr(0, text.find_first_of(":=%"));  // cuts at a character before which no secret begins
  }
  the_log().logger.log(severity, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace

void log_debug(std::string_view text) { write(level::debug, text); }
void log_info(std::string_view text) { write(level::info, text); }
void log_warn(std::string_view text) { write(level::warn, text); }
void log_error(std::string_view text) { write(level::err, text); }

void set_console_level(ConsoleLevel wanted) {
  the_log().console_sink->set_level(wanted == ConsoleLevel::quiet    ? level::warn
                                    : wanted == ConsoleLevel::normal ? level::info
                                                                     : level::debug);
}

ConsoleLevel console_level() {
  auto lowest = the_log().console_sink->level();
  if (lowest == level::warn) return ConsoleLevel::quiet;
  return lowest == level::info ? ConsoleLevel::normal : ConsoleLevel::verbose;
}

void set_log_file(const std::filesystem::path& path) {
  Log& log = the_log();
  std::shared_ptr<spdlog::sinks::basic_file_sink_mt> file;
  try {
    file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  } catch (const spdlog::spdlog_ex& error) {
    throw UserError(ExitCode::snapshot, concat("cannot open the log file ", path.string(), ": ", error.what()),
                    "choose another folder with --run-dir, or make this one writable");
  }
  file->set_pattern("%Y-%m-%d %H:%M:%S.%e %-7l %v");
  log.path = path;
  if (log.descriptor >= 0) ::close(log.descriptor);
  log.descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log.early)
    for (const auto& message : log.early->last_raw()) file->log(message);
  log.record->set_sinks({file});
  log.early.reset();
  log.logger.flush();
}

const std::filesystem::path& log_file() { return the_log().path; }

int open_log_file() {
  const int descriptor = the_log().descriptor;
  return descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

}  // namespace flowtrain
