#include "pipeline/engine/tensorboard/tensorboard.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/tensorboard/pictures.h"
#include "pipeline/engine/train/logger_entry.h"
#include "pipeline/engine/train/train_line.h"
#include "sampling/core/parse.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/system/wall_time.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds pause(100);  // between writes

const std::string file_prefix = "events.out.tfevents.";

// Returns the files of earlier starts, oldest first.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(file_prefix)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// The content of earlier starts that readers know.
struct Earlier {
  bool empty = true;
  std::set<std::uint64_t> pictures, validations;  // sets of iterations
};

void erase_from(std::set<std::uint64_t>& iterations, std::uint64_t first) {
  iterations.erase(iterations.lower_bound(first), iterations.end());
}

// A record that a power cut has torn is cut off: some readers stop there.
Earlier read_earlier(const std::vector<fs::path>& files) {
  Earlier earlier;
  for (auto& file : files) {
    const auto whole = each_record(file, [&](std::string_view record) {
      const EventContent content = content_of(record);
      earlier.empty = false;
      if (content.starts)
        for (auto* iterations : {&earlier.pictures, &earlier.validations}) erase_from(*iterations, content.iteration);
      if (content.pictures) earlier.pictures.insert(content.iteration);
      if (content.validates) earlier.validations.insert(content.iteration);
    });
    if (whole < fs::file_size(file)) fs::resize_file(file, whole);
  }
  return earlier;
}

// Readers take files in the order of their names, so a clock that was set back must not show.
fs::path next_file(const fs::path& folder, const std::vector<fs::path>& files) {
  auto number = static_cast<std::uint64_t>(wall_time_s());
  if (!files.empty()) {
    const std::string name = files.back().filename().string().substr(file_prefix.size());
    if (const auto newest = parse_number<std::uint64_t>(name.substr(0, name.find('.'))))
      number = std::max(number, *newest + 1);
  }
  return folder / concat(file_prefix, number, ".flowtrain");
}

std::string cell_of(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '\n')
      cell += ", ";
    else if (c == '|')
      cell += "\\|";
    else
      cell += c;
  }
  return cell;
}

std::string table_of(const Drawing& graph) {
  std::string table = "| node | what it does | on |\n|---|---|---|\n";
  for (auto& node : graph.nodes)
    table += concat("| ", cell_of(node.name), " | ", cell_of(node.label), " | ",
                    node.thread ? "threads of its own" : "workers", " |\n");
  table += "\n| from | to | between them |\n|---|---|---|\n";
  for (auto& edge : graph.edges)
    table += concat("| ", cell_of(edge.from), " | ", cell_of(edge.to), " | ", cell_of(edge.label), " |\n");
  return table;
}

JsonObject fields_of(const Scalars& scalars) {
  JsonObject fields;
  for (auto& [name, value] : scalars) fields.emplace(name, value);
  return fields;
}

}  // namespace

TensorBoard::TensorBoard(fs::path run, std::uint64_t first, std::string config)
    : run_(std::move(run)), first_(first), config_(std::move(config)) {
  if (run_.empty()) return;
  tasks_.emplace(TaskThread::Rules{.name = "ft-tensorboard",
                                   .depth = depth,
                                   .drops = true,
                                   .warn = [this](auto& error) { warn(concat("cannot be written: ", error.what())); },
                                   .pause = [] { return pause; },
                                   .after_pause = [this] { flush_all(); }});
}

TensorBoard::~TensorBoard() { finish(); }

void TensorBoard::write_later(TaskThread::Task task) {
  if (!tasks_) return;
  tasks_->add([this, write = std::move(task)] {
    reported_ = true;
    write();
  });
}

std::function<void()> TensorBoard::wait_for_written() {
  return tasks_ ? tasks_->wait_for_added() : Logger::wait_for_written();
}

void TensorBoard::warn(const std::string& what) const {
  log_warn(concat((run_ / "tensorboard").string(), ": ", what,
                  "; training goes on, TensorBoard shows a gap (display.tensorboard = false writes no files)"));
}

void TensorBoard::begin(const Drawing& graph) {
  write_later([this, graph] { open(graph); });
}

void TensorBoard::open(const Drawing& graph) {
  const fs::path folder = run_ / "tensorboard";
  make_folders(folder);
  const auto files = event_files(folder);
  Earlier earlier = read_earlier(files);
  std::string head = frame(version_event());
  if (earlier.empty) {
    SummaryEvent texts(0);
    texts.text("config", "```toml\n" + without_secrets(config_) + "\n```\n");
    texts.text("graph", without_secrets(table_of(graph)));
    head += frame(texts.bytes());
  } else {
    head += frame(start_event(first_));
    pictures_ = std::move(earlier.pictures);
    validations_ = std::move(earlier.validations);
    for (auto* iterations : {&pictures_, &validations_}) erase_from(*iterations, first_);
  }
  file_.emplace(next_file(folder, files));
  records_ = std::move(head);
}

void TensorBoard::add(const SummaryEvent& event) {
  if (file_ && !event.empty()) records_ += frame(event.bytes());
}

// Records that cannot be written are lost.
void TensorBoard::flush() {
  if (records_.empty()) return;
  const std::string records = std::exchange(records_, {});
  file_->append(records);
}

// Pictures that cannot be read must not keep the records from being written. The last validation's pictures come at the
// end.
void TensorBoard::flush_all() {
  flush();
  if (!std::exchange(reported_, false) && !ends_) return;
  add_pictures();
  flush();
}

void TensorBoard::add_scalars(std::uint64_t iteration, const std::string& group, const JsonObject& fields) {
  SummaryEvent event(iteration);
  for (auto& [name, value] : fields)
    if (name != "iter" && value.is_number()) event.scalar(concat(group, "/", name), value.get<double>());
  add(event);
  last_ = std::max(last_, iteration);
}

// Pictures may be written later than the report of their validation, so they are looked for repeatedly.
void TensorBoard::add_pictures() {
  if (!file_) return;
  for (auto& set : new_pictures(run_, last_, pictures_)) {
    SummaryEvent event(set.iteration);
    for (auto& [tag, data, is_text] : set.pictures) is_text ? event.text(tag, data) : event.picture(tag, data);
    add(event);
    pictures_.insert(set.iteration);
  }
}

void TensorBoard::step(const StepEvent& event, const Scalars& scalars) {
  if (event.report)
    write_later([this, event, scalars] { add_scalars(event.iteration, "train", train_line(event, scalars)); });
}

void TensorBoard::epoch(std::uint64_t iteration, std::uint64_t, const Scalars& means) {
  write_later([this, iteration, means] { add_scalars(iteration, "epoch", fields_of(means)); });
}

void TensorBoard::validation(const ValidationEvent& validation) {
  write_later([this, iteration = validation.iteration, scalars = validation.scalars, texts = validation.texts] {
    // A resume repeats a validation whose metrics its snapshot does not hold yet.
    if (validations_.contains(iteration)) return;
    add_scalars(iteration, "val", fields_of(scalars));
    if (texts.empty()) return;
    SummaryEvent event(iteration);
    event.text("samples", without_secrets(to_markdown(texts)));
    add(event);
  });
}

void TensorBoard::histograms(std::uint64_t iteration, const Histograms& all) {
  write_later([this, iteration, all] {
    SummaryEvent event(iteration);
    for (auto& histogram : all) event.histogram(histogram);
    add(event);
  });
}

void TensorBoard::finish() {
  if (!tasks_ || ends_.exchange(true)) return;
  tasks_->finish();
  if (const auto lost = tasks_->dropped(); lost > 0)
    warn(concat(lost, " reports came faster than they could be written"));
}

LoggerEntry tensorboard_logger() {
  return {"tensorboard", "event files", TensorBoard::depth, [](const LoggerInput& input) -> std::unique_ptr<Logger> {
            if (!input.config.table("display").boolean("tensorboard")) return nullptr;
            return std::make_unique<TensorBoard>(input.folder(), input.first, to_toml(input.config));
          }};
}

}  // namespace flowtrain
