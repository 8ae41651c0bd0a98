// File: certificate.h
//
// The certificate that the server shows: an own one from two PEM files, or one
// that it makes and signs itself when it starts for the first time.
//
//   ASSIGN_OR_RETURN(Certificate certificate,
//                    KeptCertificate(fs, clock, data / "tls", {"10.0.0.7"}));
//
// The made one is for localhost, 127.0.0.1, ::1 and the names given, for ten
// years; clients that check certificates must be given `tls/server.pem` as
// one that they trust. It is made anew if either file is missing, never
// because of what is in them.
//
// Errors: INVALID_ARGUMENT if a file is not PEM or key and certificate do not
// belong together; what the file system says.
//
// Serves promise 5: a damaged key is named when the server starts.
#ifndef HOURGLASS_BROKER_FRONT_CERTIFICATE_H_
#define HOURGLASS_BROKER_FRONT_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hourglass/clock.h"
#include "hourglass/file_system.h"

namespace hourglass {

struct Certificate {
  std::string chain_pem;
  std::string key_pem;
};

absl::StatusOr<Certificate> ReadCertificate(FileSystem* fs, const Path& chain,
                                            const Path& key);

// `names`: host names and addresses beside the usual ones.
absl::StatusOr<Certificate> MakeCertificate(
    Clock* clock, const std::vector<std::string>& names);

// server.pem and server.key in `dir`, made if they are not there. Only the
// owner may read the key.
absl::StatusOr<Certificate> KeptCertificate(
    FileSystem* fs, Clock* clock, const Path& dir,
    const std::vector<std::string>& names);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_CERTIFICATE_H_
