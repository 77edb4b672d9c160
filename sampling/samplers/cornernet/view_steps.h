#pragma once
// Steps that both ways of cutting a view are made of.

#include "sampling/samplers/cornernet/view.h"

namespace flowtrain {

/// How a part is cut along one axis: `count` pixels from `from` on of the picture go to `to` of the part; the rest of
/// the part is black.
struct AxisCut {
  int from, to, count;
};

/// The part of `length` pixels around `centre` of an axis of `size` pixels: half of `length` rounded down on each side,
/// so that an odd part keeps a black last line.
AxisCut cut_axis(int centre, int length, int size);

/// Clips boxes to [x0, x1 - 1] and [y0, y1 - 1] and removes those left without area.
void clip_boxes(std::vector<ViewBox>& boxes, float x0, float y0, float x1, float y1);

/// Mirrors the view left to right if a drawn number says so.
void maybe_flip(const Extent& size, DrawSource& draws, View& view);

}  // namespace flowtrain
