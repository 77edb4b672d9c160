#pragma once
// The size of the bumps on heat maps. H. Law, J. Deng, "CornerNet", ECCV 2018.

namespace flowtrain {

/// How far both corners of a (height, width) box may move in any direction while it overlaps the true one by
/// `min_overlap` (intersection over union, in (0, 1)) at least: the smallest of three cases, as the authors corrected
/// them after the first release.
double gaussian_radius(double height, double width, double min_overlap);

}  // namespace flowtrain
