//! Why a comment approves nothing, and what to do.

use std::fmt;

/// Why a comment approves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentDoubt {
    /// Capstan's own user wrote it.
    Own,
    /// A bot wrote it.
    Bot,
    /// It was changed after it was written.
    Edited,
    /// It was written before the plan of the head was.
    Early,
    /// Its author may not write to the repository.
    Reader,
    /// The forge does not say whether its author may write to the repository.
    RightsUnknown,
    /// Its author is not one of those who may approve.
    Unlisted,
    /// Its author made the change.
    Author,
    /// It is not known who made the change.
    AuthorsUnknown,
}

/// In words that follow "does not count:".
impl fmt::Display for CommentDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "the user of Capstan's token wrote the comment; comment as a person",
            Self::Bot => "a bot wrote the comment; a person has to",
            Self::Edited => "the comment was edited; write a new comment",
            Self::Early => {
                "the comment is older than the plan of the newest commit; read that plan, then write a new comment"
            }
            Self::Reader => {
                "its author may not write to the repository; ask somebody who may to comment"
            }
            Self::RightsUnknown => {
                "the forge does not tell Capstan whether its author may write to the repository; name those who may approve in spec.approvals.approvers of the Fleet"
            }
            Self::Unlisted => {
                "its author is not in spec.approvals.approvers of the Fleet; ask one of those to comment"
            }
            Self::Author => {
                "its author opened the pull request or wrote one of its commits, and spec.approvals.notAuthor of the Fleet asks for somebody else; ask another person to comment"
            }
            Self::AuthorsUnknown => {
                "it is not known yet who wrote the pull request, and spec.approvals.notAuthor of the Fleet asks for somebody else; it is asked again"
            }
        })
    }
}
