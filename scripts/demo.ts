console.error('The demo is not written yet.')
process.exit(1)
