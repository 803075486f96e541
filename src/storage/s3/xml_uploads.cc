#include "storage/s3/xml_uploads.h"

#include <utility>

#include "storage/list_checks.h"
#include "storage/s3/s3_failure.h"
#include "storage/s3/s3_xml.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {

Result<std::vector<UnfinishedUpload>> ListXmlUploads(
    const CallContext& context, const std::string& prefix, CancelFlag cancel,
    const std::function<Outgoing(const std::string& after_key, const std::string& after_id)>& make) {
  std::vector<UnfinishedUpload> uploads;
  PageTokens tokens;
  UploadsPage page;
  do {
    const UploadsPage last = std::exchange(page, {});
    const CallResult result = RunOne(
        context, "list uploads of", prefix, [&] { return make(last.next_key, last.next_upload_id); },
        [&](http::Response& answer) -> std::optional<Failure> {
          auto parsed = ParseUploads(answer.body);
          Status status = parsed.ok() ? CheckUploads(prefix, parsed->uploads) : parsed.status();
          if (status.ok() && !parsed->next_key.empty()) {
            status = tokens.Take(parsed->next_key + '\0' + parsed->next_upload_id);
          }
          if (!status.ok()) {
            return FailureOfS3Body(answer, status);
          }
          page = *std::move(parsed);
          return std::nullopt;
        },
        cancel);
    ASSAY_RETURN_IF_ERROR(result.status);
    uploads.insert(uploads.end(), page.uploads.begin(), page.uploads.end());
  } while (!page.next_key.empty());
  return uploads;
}

}  // namespace assay::storage
