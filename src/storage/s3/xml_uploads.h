// Unfinished uploads as the XML APIs list them: S3's, and Google's after it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/transfer/store_call.h"

namespace assay::storage {

/// All pages. `make` writes the request for what lies behind a key and an upload of it; both are empty for the first.
Result<std::vector<UnfinishedUpload>> ListXmlUploads(
    const CallContext& context, const std::string& prefix, CancelFlag cancel,
    const std::function<Outgoing(const std::string& after_key, const std::string& after_id)>& make);

}  // namespace assay::storage
