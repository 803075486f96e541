// From a data set of images to image files, made once and found again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::data {

/// What images are to be decoded, and to which size.
struct ImageSpec {
  std::string data;  ///< a folder (see OpenImageFolder), or "digits"
  int64_t width = 224;
  int64_t height = 224;
  bool skip_corrupt = false;  ///< leave out images that cannot be decoded, instead of failing at the first
  std::string share_dir;      ///< the project's read-only data; empty: ShareDirectory()
  std::string cache_dir;      ///< where image files are kept, under images/; empty: UserCacheDirectory()
  int64_t threads = 0;        ///< 0: all that the process may use
};

/// One part of a data set, ready for workers.
struct PreparedPart {
  std::string file = {};  ///< an ImageFile; empty: the data set has no such part
  int64_t images = 0;
  int64_t skipped = 0;                    ///< images that could not be decoded
  std::vector<std::string> reasons = {};  ///< a line for each of these, when the file was made now
  bool cached = false;                    ///< the file was there already
};

struct PreparedImages {
  PreparedPart train;
  PreparedPart eval;
  std::vector<std::string> classes;
  std::string data_hash;  ///< SHA-256 over the content and labels of both parts
  double seconds = 0;
};

/// Decodes and resizes (as image::Resize) a data set, in parallel over its images, into the cache, or finds it there.
/// The files' names are a hash of the images' content, labels, class names and the size, so nothing stale is ever
/// found, and a damaged file is made again. Processes may do this at once: each writes a file of its own and renames
/// it.
///
/// Fails with one line: a data set that is missing, empty or badly arranged, an image that cannot be decoded (named;
/// unless such are to be skipped, or when nothing else is left), a cache that cannot be written.
Result<PreparedImages> PrepareImages(const ImageSpec& spec);

}  // namespace assay::data
