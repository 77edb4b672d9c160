#include "pipeline/tools/bench/lr_find.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "pipeline/base/telemetry/format.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr double past = 0.9;    // the weight of the past in the mean
constexpr double diverged = 4;  // times the least loss
constexpr unsigned curve_rows = 8;

// Returns the slope of the best straight line through the losses, over evenly spaced logarithms of the rates.
double slope_of(std::span<const LrFinder::Tried> window) {
  const double middle = static_cast<double>(window.size() - 1) / 2;
  double above = 0, below = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double at = static_cast<double>(i) - middle;
    above += at * window[i].loss;
    below += at * at;
  }
  return above / below;
}

// Draws losses over the logarithms of rates. Losses above twice the first one are cut off.
class CurveDrawing {
 public:
  explicit CurveDrawing(const std::vector<LrFinder::Tried>& tried)
      : from_(std::log10(tried.front().lr)),
        to_(std::max(std::log10(tried.back().lr), from_ + 1e-9)),
        high_(greatest(tried) + 1e-9),
        low_(std::ranges::min(tried, {}, &LrFinder::Tried::loss).loss) {}

  std::string line(const std::vector<LrFinder::Tried>& tried, double LrFinder::Tried::*loss, const char* colour) const {
    std::string text = concat("<polyline fill=\"none\" stroke=\"", colour, "\" points=\"");
    for (auto& each : tried) text += printed("%.1f,%.1f ", x(each.lr), y(each.*loss));
    return text + "\"/>\n";
  }
  std::string mark(double lr, const std::string& label) const {
    return printed("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"%d\" stroke=\"#b00\"/>\n", x(lr), x(lr), bottom) +
           text(x(lr), 14, "middle", label);
  }
  std::string frame() const {
    std::string all = printed("<path d=\"M%d 20V%dH%d\" fill=\"none\" stroke=\"#888\"/>\n", left, bottom, right);
    for (int power = static_cast<int>(std::ceil(from_ - 1e-9)); power <= to_ + 1e-9; ++power)
      all += text(x(std::pow(10, power)), bottom + 18, "middle", printed("1e%d", power));
    for (const double share : {0.0, 0.5, 1.0}) {
      const double loss = low_ + share * (high_ - low_);
      all += text(left - 6, y(loss) + 4, "end", printed("%.3g", loss));
    }
    return all + text((left + right) / 2.0, bottom + 36, "middle", "learning rate") + text(left, 14, "end", "loss");
  }

 private:
  static constexpr int left = 60, right = 700, bottom = 340;

  static double greatest(const std::vector<LrFinder::Tried>& tried) {
    double most = -std::numeric_limits<double>::infinity();
    for (auto& each : tried)
      if (std::isfinite(each.loss)) most = std::max(most, each.loss);
    return std::min(most, 2 * std::abs(tried.front().smooth));
  }
  static std::string text(double x, double y, const char* anchor, const std::string& words) {
    return printed("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + words + "</text>\n";
  }
  double x(double lr) const { return left + (right - left) * (std::log10(lr) - from_) / (to_ - from_); }
  double y(double loss) const {
    const double kept = std::isfinite(loss) ? std::clamp(loss, low_, high_) : high_;
    return bottom - (bottom - 20) * (kept - low_) / (high_ - low_);
  }

  const double from_, to_, high_, low_;
};

}  // namespace

double LrFinder::lr(std::uint64_t iteration) const {
  const auto way = static_cast<double>(iteration - 1) / static_cast<double>(range_.iterations - 1);
  return range_.from * std::pow(range_.to / range_.from, way);
}

void LrFinder::on_event(HookEvent event, HookContext& context) {
  const double now = lr(context.iteration);
  if (event == HookEvent::iteration_begin) {
    const double first = context.hyper.front().lr;
    for (auto& hyper : context.hyper) hyper.lr = first > 0 ? now * (hyper.lr / first) : now;
    return;
  }
  if (context.scalars->empty()) return context.stop("the loss is not finite any more");
  const double loss = context.scalars->front().second;
  mean_ = past * mean_ + (1 - past) * loss;
  const double smooth = mean_ / (1 - std::pow(past, static_cast<double>(tried_.size() + 1)));
  least_ = tried_.empty() ? smooth : std::min(least_, smooth);
  tried_.push_back({now, loss, smooth});
  if (smooth > diverged * least_) context.stop("the loss has grown to four times its least");
}

double LrFinder::suggestion() const {
  const auto width = std::max<std::ptrdiff_t>(3, static_cast<std::ptrdiff_t>(range_.iterations / 10));
  double steepest = 0, found = 0;
  for (auto first = tried_.begin(); least() - first >= width - 1; ++first) {
    const std::span window(first, static_cast<std::size_t>(width));
    const double slope = slope_of(window);
    if (slope < steepest) steepest = slope, found = window[window.size() / 2].lr;
  }
  return found;
}

std::vector<LrFinder::Tried>::const_iterator LrFinder::least() const {
  return std::min_element(tried_.begin(), tried_.end(), [](auto& a, auto& b) { return a.smooth < b.smooth; });
}

std::string LrFinder::picture() const {
  std::string text =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 390\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<title>loss over the learning rate</title><rect width=\"720\" height=\"390\" fill=\"#fff\"/>\n";
  if (tried_.empty()) return text + "</svg>\n";
  const CurveDrawing drawing(tried_);
  text += drawing.frame() + drawing.line(tried_, &Tried::loss, "#bbb") + drawing.line(tried_, &Tried::smooth, "#06c");
  if (const double found = suggestion(); found > 0) text += drawing.mark(found, "try " + format_rate(found));
  return text + "</svg>\n";
}

std::string LrFinder::report() const {
  if (tried_.empty()) return "the loss of the first iteration is already not finite\n";
  std::vector<double> curve;
  // Large losses at the end would flatten the rest of the curve, so they are cut off.
  for (auto& each : tried_) curve.push_back(std::min(each.smooth, 1.1 * tried_.front().smooth));
  std::string text = concat("smoothed loss for learning rates from ", format_rate(tried_.front().lr), " to ",
                            format_rate(tried_.back().lr), "\n");
  text += plot(curve, curve_rows, 1, false);
  const double found = suggestion();
  if (found == 0)
    return text +
           "the loss does not fall: try other rates (--from, --to), or check that the net learns at all (--overfit)\n";
  text +=
      concat("the loss falls fastest at ", format_rate(found), ", and is least at ", format_rate(least()->lr), "\n");
  return text + concat("try --set optim.lr=", format_rate(found), "\n");
}

}  // namespace flowtrain
