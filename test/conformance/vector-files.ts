// The project's own copy of the vectors, for the runtimes that cannot read a folder.
import compaction from './vectors/compaction.json' with { type: 'json' }
import filterMatches from './vectors/filter-matches.json' with { type: 'json' }
import filterMerge from './vectors/filter-merge.json' with { type: 'json' }
import filterValidation from './vectors/filter-validation.json' with { type: 'json' }
import service from './vectors/service.json' with { type: 'json' }
import conversationSearch from './vectors/tool-conversation-search.json' with { type: 'json' }
import crossSessionSearch from './vectors/tool-cross-session-search.json' with { type: 'json' }

export const vectorFiles: Readonly<Record<string, readonly unknown[]>> = {
  'filter-matches': filterMatches,
  'filter-validation': filterValidation,
  'filter-merge': filterMerge,
  'tool-conversation-search': conversationSearch,
  'tool-cross-session-search': crossSessionSearch,
  compaction,
  service,
}
